within Parts.Electrical.Examples;
model InductorCut "Two inductors one after the other carry one current: index 2"
  SineVoltage source(V = 3, w = 2);
  Inductor l1(L = 1, i(start = 0, fixed = true));
  Inductor l2(L = 0.5);
  Resistor r(R = 3);
  Ground ground;
equation
  connect(source.p, l1.p);
  connect(l1.n, l2.p);
  connect(l2.n, r.p);
  connect(r.n, source.n);
  connect(source.n, ground.p);
  annotation(experiment(StopTime = 5));
end InductorCut;
