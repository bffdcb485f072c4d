within Parts.Electrical.Examples;
model LowPass "A capacitor that a voltage charges through a resistor"
  ConstantVoltage source(V = 10);
  Resistor r(R = 100);
  Capacitor c(C = 1e-3, v(start = 0, fixed = true));
  Ground ground;
equation
  connect(source.p, r.p);
  connect(r.n, c.p);
  connect(c.n, source.n);
  connect(source.n, ground.p);
  annotation(experiment(StopTime = 0.5));
end LowPass;
