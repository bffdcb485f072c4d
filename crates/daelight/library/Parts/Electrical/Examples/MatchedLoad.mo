within Parts.Electrical.Examples;
model MatchedLoad "A transformer makes a small load look large"
  SineVoltage source(V = 10, w = 5);
  Resistor inside(R = 400);
  Transformer transformer(n = 10);
  Resistor load(R = 4);
  Ground ground;
equation
  connect(source.p, inside.p);
  connect(inside.n, transformer.p1);
  connect(transformer.n1, source.n);
  connect(transformer.p2, load.p);
  connect(load.n, transformer.n2);
  connect(source.n, ground.p);
  connect(transformer.n2, ground.p);
  annotation(experiment(StopTime = 3));
end MatchedLoad;
