model CartPendulum "A pendulum on a cart, in minimal coordinates"
  parameter Real m(unit = "kg") = 1   "mass of the cart";
  parameter Real M(unit = "kg") = 0.5 "mass of the bob";
  parameter Real L(unit = "m") = 0.8  "length of the rod";
  parameter Real g(unit = "m/s2") = 9.81;
  // The energies are those of the publication. They belong to two drawings (see SOURCE.md): the motion is that of the
  // printed equations, not of a real cart.
  Real x(start = 0, fixed = true, unit = "m")         "position of the cart";
  Real theta(start = 0.5, fixed = true, unit = "rad") "angle of the rod, from upright in the potential energy";
initial equation
  der(x) = 0;
  der(theta) = 0;
equation
  lagrange(
    0.5*(m + M)*der(x)^2 + 0.5*M*L^2*der(theta)^2 - M*L*der(x)*der(theta)*sin(theta),
    M*g*L*cos(theta),
    {x, theta});
  annotation(
    experiment(StartTime = 0, StopTime = 1, Tolerance = 1e-8),
    __daelight(draw = {{{x - 0.2, 0}, {x + 0.2, 0}}, {{x, 0}, {x - L*sin(theta), L*cos(theta)}}}));
end CartPendulum;
