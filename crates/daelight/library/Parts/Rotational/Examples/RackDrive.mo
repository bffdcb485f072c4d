within Parts.Rotational.Examples;
model RackDrive "A wheel drives a mass along a rack: index 3"
  Blocks.Constant drive(k = 3);
  Torque motor;
  Inertia wheel(J = 0.2, phi(start = 0, fixed = true), w(start = 0, fixed = true));
  Rack rack(r = 0.5);
  Translational.Mass load(m = 4);
equation
  connect(drive.y, motor.tau);
  connect(motor.flange, wheel.a);
  connect(wheel.b, rack.shaft);
  connect(rack.rack, load.a);
  annotation(experiment(StopTime = 2));
end RackDrive;
