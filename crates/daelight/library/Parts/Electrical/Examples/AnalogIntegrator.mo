within Parts.Electrical.Examples;
model AnalogIntegrator "An operational amplifier that integrates"
  SineVoltage source(V = 1, w = 3);
  Resistor r(R = 1000);
  Capacitor c(C = 1e-3, v(start = 0, fixed = true));
  Amplifier amplifier;
  Ground ground;
equation
  connect(source.p, r.p);
  connect(r.n, amplifier.minus);
  connect(r.n, c.p);
  connect(c.n, amplifier.out);
  connect(amplifier.plus, ground.p);
  connect(source.n, ground.p);
  annotation(experiment(StopTime = 4));
end AnalogIntegrator;
