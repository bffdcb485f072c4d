within Parts.Electrical.Examples;
model SeriesResonance "Resistor, inductor and capacitor at a voltage that is switched on"
  ConstantVoltage source(V = 1);
  Resistor r(R = 0.4);
  Inductor l(L = 1, i(start = 0, fixed = true));
  Capacitor c(C = 0.25, v(start = 0, fixed = true));
  Ground ground;
equation
  connect(source.p, r.p);
  connect(r.n, l.p);
  connect(l.n, c.p);
  connect(c.n, source.n);
  connect(source.n, ground.p);
  annotation(experiment(StopTime = 10));
end SeriesResonance;
