model Overfixed "A pendulum whose fixed velocity leaves the circle"
  parameter Real L = 1, g = 9.81;
  Real x(start = 0.6, fixed = true);
  Real y(start = -0.8, fixed = true);
  Real u(start = 1.0, fixed = true);
  Real v(start = 0, fixed = true);
  Real lambda;
equation
  der(x) = u;
  der(y) = v;
  der(u) = -lambda*x;
  der(v) = -lambda*y - g;
  x^2 + y^2 = L^2;
end Overfixed;
