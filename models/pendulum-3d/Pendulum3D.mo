model Pendulum3D "A point mass on a rigid cable"
  parameter Real m(unit = "kg") = 1, L(unit = "m") = 1, g(unit = "m/s2") = 9.81;
  parameter Real u[3](each unit = "N") = {0.5, -0.3, 0.2} "wind force on the mass";
  Real p[3](start = {0.6, 0, -0.8}, each unit = "m") "position of the mass";
  Real z(start = 10, unit = "N/m") "cable force per length";
initial equation
  der(p[2]) = 1.5;
equation
  lagrange(0.5*m*der(p)*der(p), m*g*p[3], p, {0.5*(p*p - L^2)}, {z}, virtualWork(u, p));
  annotation(
    experiment(StartTime = 0, StopTime = 1, Tolerance = 1e-8),
    __daelight(draw = {{{0, 0, 0}, p}}));
end Pendulum3D;
