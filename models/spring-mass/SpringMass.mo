model SpringMass "A mass on a spring: the smallest Lagrangian"
  parameter Real m(unit = "kg") = 2;
  parameter Real k(unit = "N/m") = 8 "stiffness of the spring";
  Real x(start = 1, fixed = true, unit = "m") "elongation of the spring";
initial equation
  der(x) = 0;
equation
  lagrange(0.5*m*der(x)^2, 0.5*k*x^2, {x});
  annotation(
    experiment(StartTime = 0, StopTime = 1, Tolerance = 1e-8),
    __daelight(draw = {{{-2, 0}, {x, 0}}}));
end SpringMass;
