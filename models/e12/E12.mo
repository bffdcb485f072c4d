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

model E12 "Which motor torques lead the tool of a flexible two-joint manipulator along a line? (index 4)"
  // bodies 1 to 3; joints 1 and 2 have motors behind elastic gears, joint 3 is elastic only
  parameter Real m[3](each unit = "kg") = {100, 100, 200}       "masses";
  parameter Real xi[3](each unit = "m") = {0.5, 0.5, 0.1}       "centres of mass";
  parameter Real l[3](each unit = "m") = {1, 1, 0.2}            "lengths";
  parameter Real j[3](each unit = "kg.m2") = {5, 5, 50}         "inertias about the centres of mass";
  parameter Real k[3](each unit = "N.m/rad") = {1e5, 1e5, 1e5}  "stiffnesses of the joints";
  parameter Real d[3](each unit = "N.m.s/rad") = {50, 50, 50}   "dampings of the joints";
  parameter Real Jm[2](each unit = "kg.m2") = {100, 100}        "inertias of the motors";
  parameter Real g(unit = "m/s2") = 0                           "gravity, downwards";
  parameter Real xStart(unit = "m") = 2.146, zStart(unit = "m") = -0.345 "tool at the start";
  parameter Real xEnd(unit = "m") = 1.146, zEnd(unit = "m") = 1.645      "tool at the end";
  parameter Real T(unit = "s") = 0.3                            "duration of the movement";
  parameter Real elbow = 1 "1 or -1: which of the two static positions to start from (a guess only)";
  // angles count downwards from the horizontal, z counts upwards
  Real q1(start = if elbow > 0 then -0.01 else 0.33, unit = "rad")  "first joint";
  Real q2(start = if elbow > 0 then 0.31 else -0.31, unit = "rad")  "second joint";
  Real q3(start = 0, unit = "rad")                                  "third joint";
  Real qm1(start = if elbow > 0 then -0.01 else 0.33, unit = "rad") "first motor";
  Real qm2(start = if elbow > 0 then 0.31 else -0.31, unit = "rad") "second motor";
  Real u1(start = 0, nominal = 1e4, unit = "N.m") "torque of the first motor";
  Real u2(start = 0, nominal = 1e4, unit = "N.m") "torque of the second motor";
initial equation
  // at rest
  der(q3) = 0;
  der(der(q3)) = 0;
  der(qm1) = 0;
  der(qm2) = 0;
equation
  lagrange(
    // kinetic energy: the centres of mass, the rotations, the motors
    0.5*m[1]*(der(xi[1]*cos(q1))^2 + der(xi[1]*sin(q1))^2)
    + 0.5*m[2]*(der(l[1]*cos(q1) + xi[2]*cos(q1 + q2))^2
                + der(l[1]*sin(q1) + xi[2]*sin(q1 + q2))^2)
    + 0.5*m[3]*(der(l[1]*cos(q1) + l[2]*cos(q1 + q2) + xi[3]*cos(q1 + q2 + q3))^2
                + der(l[1]*sin(q1) + l[2]*sin(q1 + q2) + xi[3]*sin(q1 + q2 + q3))^2)
    + 0.5*j[1]*der(q1)^2 + 0.5*j[2]*der(q1 + q2)^2 + 0.5*j[3]*der(q1 + q2 + q3)^2
    + 0.5*Jm[1]*der(qm1)^2 + 0.5*Jm[2]*der(qm2)^2,
    // potential energy: the springs, gravity
    0.5*k[1]*(q1 - qm1)^2 + 0.5*k[2]*(q2 - qm2)^2 + 0.5*k[3]*q3^2
    - m[1]*g*xi[1]*sin(q1)
    - m[2]*g*(l[1]*sin(q1) + xi[2]*sin(q1 + q2))
    - m[3]*g*(l[1]*sin(q1) + l[2]*sin(q1 + q2) + xi[3]*sin(q1 + q2 + q3)),
    {q1, q2, q3, qm1, qm2},
    zeros(0), zeros(0),
    // forces: the dampers, the motors
    {-d[1]*(der(q1) - der(qm1)),
     -d[2]*(der(q2) - der(qm2)),
     -d[3]*der(q3),
     u1 + d[1]*(der(q1) - der(qm1)),
     u2 + d[2]*(der(q2) - der(qm2))});
  // the tool is on the line
  l[1]*cos(q1) + l[2]*cos(q1 + q2) + l[3]*cos(q1 + q2 + q3) = xStart + (xEnd - xStart)*smoothStep(time, T);
  -l[1]*sin(q1) - l[2]*sin(q1 + q2) - l[3]*sin(q1 + q2 + q3) = zStart + (zEnd - zStart)*smoothStep(time, T);
  annotation(
    experiment(StartTime = 0, StopTime = 0.3, Tolerance = 1e-8),
    __daelight(draw = {
      {{0, 0},
       {l[1]*cos(q1), -l[1]*sin(q1)},
       {l[1]*cos(q1) + l[2]*cos(q1 + q2), -l[1]*sin(q1) - l[2]*sin(q1 + q2)},
       {l[1]*cos(q1) + l[2]*cos(q1 + q2) + l[3]*cos(q1 + q2 + q3),
        -l[1]*sin(q1) - l[2]*sin(q1 + q2) - l[3]*sin(q1 + q2 + q3)}},
      {{xStart, zStart}, {xEnd, zEnd}}}));
end E12;
