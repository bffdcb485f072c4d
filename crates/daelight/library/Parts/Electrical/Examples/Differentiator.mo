within Parts.Electrical.Examples;
model Differentiator "An operational amplifier that differentiates: index 2"
  SineVoltage source(V = 1, w = 3);
  Resistor r(R = 1000);
  Capacitor c(C = 1e-3);
  Amplifier amplifier;
  Ground ground;
equation
  connect(source.p, c.p);
  connect(c.n, amplifier.minus);
  connect(c.n, r.p);
  connect(r.n, amplifier.out);
  connect(amplifier.plus, ground.p);
  connect(source.n, ground.p);
  annotation(experiment(StopTime = 4));
end Differentiator;
