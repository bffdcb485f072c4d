within Parts.Rotational.Examples;
model Torsion "Two inertias on an elastic shaft"
  Inertia left(J = 1, phi(start = 0, fixed = true), w(start = 3, fixed = true));
  Spring shaft(c = 18);
  Inertia right(J = 2, phi(start = 0, fixed = true), w(start = 0, fixed = true));
equation
  connect(left.b, shaft.a);
  connect(shaft.b, right.a);
  annotation(experiment(StopTime = 5));
end Torsion;
