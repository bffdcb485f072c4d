within Parts.Translational.Examples;
model CoupledMasses "Two masses on one rod move as one: index 3"
  Fixed wall;
  Spring spring(c = 12, s0 = 1);
  Mass m1(m = 1, s(start = 1.5, fixed = true), v(start = 0, fixed = true));
  Rod rod(L = 0.7);
  Mass m2(m = 2);
equation
  connect(wall.flange, spring.a);
  connect(spring.b, m1.a);
  connect(m1.b, rod.a);
  connect(rod.b, m2.a);
  annotation(experiment(StopTime = 5));
end CoupledMasses;
