within Parts.Electrical.Examples;
model CapacitorLoop "Two capacitors side by side have one voltage: index 2"
  Resistor r(R = 2);
  Capacitor c1(C = 1, v(start = 6, fixed = true));
  Capacitor c2(C = 2);
  Ground ground;
equation
  connect(c1.p, c2.p);
  connect(c1.p, r.p);
  connect(c1.n, ground.p);
  connect(c2.n, ground.p);
  connect(r.n, ground.p);
  annotation(experiment(StopTime = 10));
end CapacitorLoop;
