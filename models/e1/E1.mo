function smoothStep "From 0 to 1 in the time T, the first five derivatives zero at both ends"
  input Real t, T;
  output Real y;
protected
  Real s, r;
algorithm
  s := t/T;
  r := 1 - s;
  // every term counts upwards: the expanded polynomial would lose three digits near s = 1
  y := if s < 1 then s^6*(1 + 6*r + 21*r^2 + 56*r^3 + 126*r^4 + 252*r^5) else 1;
end smoothStep;

model E1 "Which torque lifts the tool of a flexible arm? Linear dynamics (index 3)"
  parameter Real l1(unit = "m") = 1, l2(unit = "m") = 1 "lengths of the links";
  parameter Real J11(unit = "kg.m2") = 1000, J12(unit = "kg.m2") = 700, J22(unit = "kg.m2") = 600 "inertias";
  parameter Real k(unit = "N.m/rad") = 1e6    "stiffness of the second joint";
  parameter Real d(unit = "N.m.s/rad") = 1000 "damping of the second joint";
  parameter Real z0(unit = "m") = sqrt(2) "height of the tool at the start";
  parameter Real rise(unit = "m") = 0.1   "by which it rises";
  parameter Real T(unit = "s") = 0.1      "in this time";
  Real x1(start = 0.785, unit = "rad") "first joint";
  Real x2(start = 0, unit = "rad")     "second joint, elastic";
  Real x3(start = 0, unit = "rad/s");
  Real x4(start = 0, unit = "rad/s");
  Real u(start = 0, nominal = 1e5, unit = "N.m") "torque at the first joint";
initial equation
  // at rest
  x4 = 0;
  der(x4) = 0;
equation
  J11*der(x3) + J12*der(x4) - k*x2 - d*x4 = u;
  J12*der(x3) + J22*der(x4) + k*x2 + d*x4 = 0;
  der(x1) = x3;
  der(x2) = x4;
  l1*sin(x1) + l2*sin(x1 + x2) = z0 + rise*smoothStep(time, T);
  annotation(
    experiment(StartTime = 0, StopTime = 0.1, Tolerance = 1e-8),
    __daelight(draw = {{{0, 0}, {l1*cos(x1), l1*sin(x1)},
                        {l1*cos(x1) + l2*cos(x1 + x2), l1*sin(x1) + l2*sin(x1 + x2)}}}));
end E1;
