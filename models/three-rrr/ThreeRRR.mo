model ThreeRRR "The loops of a planar 3-RRR robot: 6 equations for 9 coordinates"
  parameter Real a[3](each unit = "m") = {0.2, 0.2, 0.2}   "driven links";
  parameter Real b[3](each unit = "m") = {0.25, 0.25, 0.25} "links to the platform";
  parameter Real g[3, 2](each unit = "m") = {{0, 0}, {0.6, 0}, {0.3, 0.5}}            "pivots of the legs";
  parameter Real c[3, 2](each unit = "m") = {{-0.08, -0.05}, {0.08, -0.05}, {0, 0.1}} "joints of the platform, in its frame";
  Real q[3](start = {1.2, 2.6, -1.2}, each unit = "rad") "directions of the driven links";
  Real p[3](start = {-0.4, 2.2, -2.4}, each unit = "rad") "directions of the links to the platform";
  Real r[2](start = {0.3, 0.2}, each unit = "m") "centre of the platform";
  Real phi(start = 0.1, unit = "rad")            "turn of the platform";
equation
  for i in 1:3 loop
    g[i, 1] + a[i]*cos(q[i]) + b[i]*cos(p[i]) = r[1] + c[i, 1]*cos(phi) - c[i, 2]*sin(phi);
    g[i, 2] + a[i]*sin(q[i]) + b[i]*sin(p[i]) = r[2] + c[i, 1]*sin(phi) + c[i, 2]*cos(phi);
  end for;
  annotation(__daelight(draw = {
    {{g[1, 1], g[1, 2]},
     {g[1, 1] + a[1]*cos(q[1]), g[1, 2] + a[1]*sin(q[1])},
     {r[1] + c[1, 1]*cos(phi) - c[1, 2]*sin(phi), r[2] + c[1, 1]*sin(phi) + c[1, 2]*cos(phi)},
     {r[1] + c[2, 1]*cos(phi) - c[2, 2]*sin(phi), r[2] + c[2, 1]*sin(phi) + c[2, 2]*cos(phi)},
     {g[2, 1] + a[2]*cos(q[2]), g[2, 2] + a[2]*sin(q[2])},
     {g[2, 1], g[2, 2]}},
    {{g[3, 1], g[3, 2]},
     {g[3, 1] + a[3]*cos(q[3]), g[3, 2] + a[3]*sin(q[3])},
     {r[1] + c[3, 1]*cos(phi) - c[3, 2]*sin(phi), r[2] + c[3, 1]*sin(phi) + c[3, 2]*cos(phi)},
     {r[1] + c[1, 1]*cos(phi) - c[1, 2]*sin(phi), r[2] + c[1, 1]*sin(phi) + c[1, 2]*cos(phi)}}}));
end ThreeRRR;
