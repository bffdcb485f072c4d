model Stephenson "The loops of a Stephenson III six-bar linkage: 4 equations for 5 angles"
  parameter Real l[5](each unit = "m") = {0.1, 0.35, 0.3, 0.25, 0.2} "crank, coupler, rocker, and the links of the dyad";
  parameter Real p[2](each unit = "m") = {0.2, 0.15} "joint of the dyad on the coupler, in its frame";
  parameter Real g[2](each unit = "m") = {0.4, 0}   "pivot of the rocker";
  parameter Real h[2](each unit = "m") = {0.45, 0.3} "pivot of the dyad";
  Real q[5](start = {1.0, 0.45, 1.5, 0.2, 1.8}, each unit = "rad") "directions of the links";
equation
  l[1]*cos(q[1]) + l[2]*cos(q[2]) - l[3]*cos(q[3]) = g[1];
  l[1]*sin(q[1]) + l[2]*sin(q[2]) - l[3]*sin(q[3]) = g[2];
  l[1]*cos(q[1]) + p[1]*cos(q[2]) - p[2]*sin(q[2]) + l[4]*cos(q[4]) - l[5]*cos(q[5]) = h[1];
  l[1]*sin(q[1]) + p[1]*sin(q[2]) + p[2]*cos(q[2]) + l[4]*sin(q[4]) - l[5]*sin(q[5]) = h[2];
  annotation(__daelight(draw = {
    {{0, 0},
     {l[1]*cos(q[1]), l[1]*sin(q[1])},
     {g[1] + l[3]*cos(q[3]), g[2] + l[3]*sin(q[3])},
     g},
    {{l[1]*cos(q[1]), l[1]*sin(q[1])},
     {l[1]*cos(q[1]) + p[1]*cos(q[2]) - p[2]*sin(q[2]), l[1]*sin(q[1]) + p[1]*sin(q[2]) + p[2]*cos(q[2])},
     {h[1] + l[5]*cos(q[5]), h[2] + l[5]*sin(q[5])},
     h}}));
end Stephenson;
