model AndrewsConstraints "The closed loops of Andrews' squeezing mechanism: 6 equations for 7 angles"
  parameter Real a[7](each unit = "m") = {0.007, 0.028, 0.035, 0.02, 0.04, 0.02, 0.04} "lengths of the rods";
  parameter Real b[2](each unit = "m") = {-0.03635, 0.03273}  "fixed node B";
  parameter Real w[2](each unit = "m") = {-0.06934, -0.00227} "fixed node A";
  Real y[7](start = {-0.0617, 0, 0.4553, 0.2227, 0.4874, -0.2227, 1.2305}, each unit = "rad")
    "beta, Theta, gamma, Phi, delta, Omega, epsilon";
equation
  a[1]*cos(y[1]) - a[2]*cos(y[1] + y[2]) - a[3]*sin(y[3]) = b[1];
  a[1]*sin(y[1]) - a[2]*sin(y[1] + y[2]) + a[3]*cos(y[3]) = b[2];
  a[1]*cos(y[1]) - a[2]*cos(y[1] + y[2]) - a[4]*sin(y[4] + y[5]) - a[5]*cos(y[5]) = w[1];
  a[1]*sin(y[1]) - a[2]*sin(y[1] + y[2]) + a[4]*cos(y[4] + y[5]) - a[5]*sin(y[5]) = w[2];
  a[1]*cos(y[1]) - a[2]*cos(y[1] + y[2]) - a[6]*cos(y[6] + y[7]) - a[7]*sin(y[7]) = w[1];
  a[1]*sin(y[1]) - a[2]*sin(y[1] + y[2]) - a[6]*sin(y[6] + y[7]) + a[7]*cos(y[7]) = w[2];
  annotation(__daelight(draw = {
    {{0, 0},
     {a[1]*cos(y[1]), a[1]*sin(y[1])},
     {a[1]*cos(y[1]) - a[2]*cos(y[1] + y[2]), a[1]*sin(y[1]) - a[2]*sin(y[1] + y[2])}},
    {b, {b[1] + a[3]*sin(y[3]), b[2] - a[3]*cos(y[3])}},
    {w, {w[1] + a[5]*cos(y[5]), w[2] + a[5]*sin(y[5])},
     {w[1] + a[5]*cos(y[5]) + a[4]*sin(y[4] + y[5]), w[2] + a[5]*sin(y[5]) - a[4]*cos(y[4] + y[5])}},
    {w, {w[1] + a[7]*sin(y[7]), w[2] - a[7]*cos(y[7])},
     {w[1] + a[7]*sin(y[7]) + a[6]*cos(y[6] + y[7]), w[2] - a[7]*cos(y[7]) + a[6]*sin(y[6] + y[7])}}}));
end AndrewsConstraints;
