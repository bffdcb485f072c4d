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

model E1Complete "Which torque lifts the tool of a flexible arm? Full rigid-body dynamics (index 3)"
  parameter Real l1(unit = "m") = 1, l2(unit = "m") = 0.5              "lengths of the links";
  parameter Real m1(unit = "kg") = 100, m2(unit = "kg") = 100          "masses";
  parameter Real xi1(unit = "m") = 0.5, xi2(unit = "m") = 0.25         "centres of mass";
  parameter Real j1(unit = "kg.m2") = 10, j2(unit = "kg.m2") = 50      "inertias about the centres of mass";
  parameter Real k(unit = "N.m/rad") = 1e5  "stiffness of the second joint";
  parameter Real d(unit = "N.m.s/rad") = 500 "damping of the second joint";
  parameter Real g(unit = "m/s2") = 0       "gravity, downwards";
  parameter Real sgn = 1 "1: positive angles point up; -1: they point down, as in the publication";
  parameter Real z0(unit = "m") = 1.5*sqrt(0.5) "height of the tool at the start";
  parameter Real rise(unit = "m") = 0.1   "by which it rises";
  parameter Real T(unit = "s") = 0.1      "in this time";
  Real x1(start = sgn*0.785, unit = "rad") "first joint";
  Real x2(start = 0, unit = "rad")         "second joint, elastic";
  Real x3(start = 0, unit = "rad/s");
  Real x4(start = 0, unit = "rad/s");
  Real u(start = 0, nominal = 1e4, unit = "N.m") "torque at the first joint";
initial equation
  // at rest
  x4 = 0;
  der(x4) = 0;
equation
  // inertia, Coriolis and centrifugal torques, gravity, joint, motor
  (j1 + j2 + m1*xi1^2 + m2*(2*l1*xi2*cos(x2) + xi2^2 + l1^2))*der(x3)
    + (j2 + m2*(l1*xi2*cos(x2) + xi2^2))*der(x4)
    - m2*l1*xi2*sin(x2)*(2*x3*x4 + x4^2)
    + sgn*g*(m1*xi1*cos(x1) + m2*xi2*cos(x1 + x2) + m2*l1*cos(x1)) = u;
  (j2 + m2*(l1*xi2*cos(x2) + xi2^2))*der(x3)
    + (j2 + m2*xi2^2)*der(x4)
    + m2*l1*xi2*sin(x2)*x3^2
    + sgn*g*m2*xi2*cos(x1 + x2)
    + k*x2 + d*x4 = 0;
  der(x1) = x3;
  der(x2) = x4;
  sgn*(l1*sin(x1) + l2*sin(x1 + x2)) = z0 + rise*smoothStep(time, T);
  annotation(
    experiment(StartTime = 0, StopTime = 0.1, Tolerance = 1e-8),
    __daelight(draw = {{{0, 0}, {l1*cos(x1), sgn*l1*sin(x1)},
                        {l1*cos(x1) + l2*cos(x1 + x2), sgn*(l1*sin(x1) + l2*sin(x1 + x2))}}}));
end E1Complete;
