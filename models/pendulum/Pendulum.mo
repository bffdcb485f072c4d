model Pendulum "Planar pendulum in Cartesian coordinates (index 3)"
  parameter Real L(unit = "m") = 1 "length of the rod";
  parameter Real g(unit = "m/s2") = 9.81;
  Real x(start = 1, unit = "m");
  Real y(start = 0, fixed = true, unit = "m");
  Real vx(start = 0, unit = "m/s");
  Real vy(start = 0, fixed = true, unit = "m/s");
  Real lambda(start = 0, unit = "1/s2") "force in the rod per mass and length";
equation
  der(x) = vx;
  der(y) = vy;
  der(vx) = -lambda*x;
  der(vy) = -lambda*y - g;
  x^2 + y^2 = L^2;
  annotation(
    experiment(StartTime = 0, StopTime = 10, Tolerance = 1e-8),
    __daelight(draw = {{{0, 0}, {x, y}}}, energy = (vx^2 + vy^2)/2 + g*y));
end Pendulum;
