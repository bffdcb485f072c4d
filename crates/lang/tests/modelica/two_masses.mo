// Two masses between walls, second derivatives written as such.
// count: 5 equations, 5 unknowns (x1, x2, E and the two velocities; two of Newton, the energy, two definitions)
class TwoMasses
  parameter Real m[2] = {1, 2.5}, c1 = 40, c2 = 15, d = 0.2;
  Real x1(start = 0.1), x2(start = -0.05);
  Real E "energy";
initial equation
  der(x1) = 0;
  der(x2) = 0.3;
equation
  m[1]*der(der(x1)) = -c1*x1 + c2*(x2 - x1) + d*der(x2 - x1);
  m[2]*der(der(x2)) = -c2*(x2 - x1) - d*(der(x2) - der(x1));
  E = 0.5*m*{der(x1)^2, der(x2)^2} + 0.5*(c1*x1^2 + c2*(x2 - x1)^2);
end TwoMasses;
