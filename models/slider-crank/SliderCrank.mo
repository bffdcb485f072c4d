model SliderCrank "The loop of a slider-crank with offset: 2 equations for 3 coordinates"
  parameter Real l[2](each unit = "m") = {0.1, 0.3} "crank and connecting rod";
  parameter Real e(unit = "m") = 0.05 "distance of the slide from the crankshaft";
  Real q[2](start = {1.0, -0.1}, each unit = "rad") "directions of crank and connecting rod";
  Real x(start = 0.35, unit = "m") "position of the slider";
equation
  l[1]*cos(q[1]) + l[2]*cos(q[2]) = x;
  l[1]*sin(q[1]) + l[2]*sin(q[2]) = e;
  annotation(__daelight(draw = {
    {{0, 0}, {l[1]*cos(q[1]), l[1]*sin(q[1])}, {x, e}}}));
end SliderCrank;
