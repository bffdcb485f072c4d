within Parts.Electrical.Examples;
model Rectifier "An ideal diode passes one half of each wave"
  SineVoltage source(V = 10, w = 6.283185307179586);
  Diode diode;
  Resistor load(R = 100);
  Ground ground;
equation
  connect(source.p, diode.p);
  connect(diode.n, load.p);
  connect(load.n, source.n);
  connect(source.n, ground.p);
  annotation(experiment(StopTime = 2));
end Rectifier;
