model E1Forward "The flexible arm of e1, driven by a torque"
  parameter Real l1(unit = "m") = 1, l2(unit = "m") = 1 "lengths of the links";
  parameter Real J11(unit = "kg.m2") = 1000, J12(unit = "kg.m2") = 700, J22(unit = "kg.m2") = 600 "inertias";
  parameter Real k(unit = "N.m/rad") = 1e6    "stiffness of the second joint";
  parameter Real d(unit = "N.m.s/rad") = 1000 "damping of the second joint";
  input Real u(unit = "N.m") = 0 "torque at the first joint";
  Real x1(start = 0.78539816339744831, fixed = true, unit = "rad") "first joint";
  Real x2(start = 0, fixed = true, unit = "rad")     "second joint, elastic";
  Real x3(start = 0, fixed = true, unit = "rad/s");
  Real x4(start = 0, fixed = true, unit = "rad/s");
  Real x(unit = "m") = l1*cos(x1) + l2*cos(x1 + x2) "the tool";
  Real z(unit = "m") = l1*sin(x1) + l2*sin(x1 + x2);
equation
  J11*der(x3) + J12*der(x4) - k*x2 - d*x4 = u;
  J12*der(x3) + J22*der(x4) + k*x2 + d*x4 = 0;
  der(x1) = x3;
  der(x2) = x4;
  annotation(
    experiment(StartTime = 0, StopTime = 0.1, Tolerance = 1e-8),
    __daelight(draw = {{{0, 0}, {l1*cos(x1), l1*sin(x1)}, {x, z}}}));
end E1Forward;
