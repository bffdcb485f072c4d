within Parts.Examples;
model MotorWithGear "A motor starts a load behind a gear"
  Electrical.ConstantVoltage battery(V = 24);
  Electrical.Resistor r(R = 0.5);
  Electrical.Inductor l(L = 0.01, i(start = 0, fixed = true));
  Electrical.Motor motor(k = 0.3);
  Electrical.Ground ground;
  Rotational.Inertia rotor(J = 0.02, phi(start = 0, fixed = true), w(start = 0, fixed = true));
  Rotational.Gear gear(n = 5);
  Rotational.Inertia load(J = 0.75);
  Rotational.Damper bearing(d = 0.4);
  Rotational.Fixed housing;
equation
  connect(battery.p, r.p);
  connect(r.n, l.p);
  connect(l.n, motor.p);
  connect(motor.n, battery.n);
  connect(battery.n, ground.p);
  connect(motor.flange, rotor.a);
  connect(rotor.b, gear.a);
  connect(gear.b, load.a);
  connect(load.b, bearing.a);
  connect(bearing.b, housing.flange);
  annotation(experiment(StopTime = 2));
end MotorWithGear;
