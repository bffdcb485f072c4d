within Parts.Electrical.Examples;
model SmoothedRectifier "A junction diode charges a capacitor beside the load"
  SineVoltage source(V = 10, w = 6.283185307179586);
  JunctionDiode diode;
  Capacitor c(C = 0.02, v(start = 0, fixed = true));
  Resistor load(R = 100);
  Ground ground;
equation
  connect(source.p, diode.p);
  connect(diode.n, load.p);
  connect(diode.n, c.p);
  connect(load.n, source.n);
  connect(c.n, source.n);
  connect(source.n, ground.p);
  annotation(experiment(StopTime = 3));
end SmoothedRectifier;
