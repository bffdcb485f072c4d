within Parts.Rotational.Examples;
model GearTrain "Two inertias on an ideal gear turn as one: index 3"
  Blocks.Constant drive(k = 6);
  Torque motor;
  Inertia fast(J = 0.5, phi(start = 0, fixed = true), w(start = 0, fixed = true));
  Gear gear(n = 4);
  Inertia slow(J = 8);
equation
  connect(drive.y, motor.tau);
  connect(motor.flange, fast.a);
  connect(fast.b, gear.a);
  connect(gear.b, slow.a);
  annotation(experiment(StopTime = 2));
end GearTrain;
