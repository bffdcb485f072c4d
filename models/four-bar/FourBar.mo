model FourBar "The loop of a four-bar linkage: 2 equations for 3 angles"
  parameter Real l[4](each unit = "m") = {0.1, 0.35, 0.3, 0.4} "crank, coupler, rocker, frame";
  Real q[3](start = {1.0, 0.45, 1.5}, each unit = "rad") "directions of crank, coupler and rocker";
equation
  l[1]*cos(q[1]) + l[2]*cos(q[2]) - l[3]*cos(q[3]) = l[4];
  l[1]*sin(q[1]) + l[2]*sin(q[2]) - l[3]*sin(q[3]) = 0;
  annotation(__daelight(draw = {
    {{0, 0},
     {l[1]*cos(q[1]), l[1]*sin(q[1])},
     {l[4] + l[3]*cos(q[3]), l[3]*sin(q[3])},
     {l[4], 0}}}));
end FourBar;
