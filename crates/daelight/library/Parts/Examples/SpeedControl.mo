within Parts.Examples;
model SpeedControl "A controller holds the speed of a motor"
  Blocks.Constant wanted(k = 50);
  Blocks.Difference error;
  Blocks.PI controller(k = 0.4, T = 0.2);
  Electrical.SignalVoltage supply;
  Electrical.Resistor r(R = 0.5);
  Electrical.Motor motor(k = 0.3);
  Electrical.Ground ground;
  Rotational.Inertia rotor(J = 0.05, phi(start = 0, fixed = true), w(start = 0, fixed = true));
  Rotational.Tachometer meter;
equation
  connect(wanted.y, error.wanted);
  connect(meter.w, error.measured);
  connect(error.y, controller.u);
  connect(controller.y, supply.u);
  connect(supply.p, r.p);
  connect(r.n, motor.p);
  connect(motor.n, supply.n);
  connect(supply.n, ground.p);
  connect(motor.flange, rotor.a);
  connect(rotor.b, meter.flange);
  annotation(experiment(StopTime = 3));
end SpeedControl;
