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

model E12Forms "The flexible manipulator of e12, its path differentiated by hand, dynamics full or linearised"
  parameter Integer form(min = 0, max = 3) = 3
    "0: with torques; 3: without (I3); 2 and 1: path differentiated once (I2) and twice (I1)";
  parameter Boolean linear = false "constant inertia of the position linearAt, no velocity torques, no gravity";
  parameter Real linearAt[3](each unit = "rad") = {-0.010741370672311705, 0.3117157958065821, 0} "the start, elbow 1";
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
  // kinetic energy 0.5*sum(C[a, b]*cos(phi_a - phi_b)*omega_a*omega_b) in the absolute angles phi_a = sum(q[1:a])
  parameter Real C[3, 3] = {{
    sum(m[c]*(if a < c then l[a] else xi[c])*(if b < c then l[b] else xi[c]) for c in max(a, b):3)
    + (if a == b then j[a] else 0) for b in 1:3} for a in 1:3};
  parameter Real weight[3] = {m[1]*xi[1] + (m[2] + m[3])*l[1], m[2]*xi[2] + m[3]*l[2], m[3]*xi[3]};
  // angles count downwards from the horizontal, z counts upwards
  Real q[3](start = if elbow > 0 then linearAt else {0.33, -0.31, 0}, each unit = "rad") "joints";
  Real qm[2](start = if elbow > 0 then {-0.01, 0.31} else {0.33, -0.31}, each unit = "rad") "motors";
  Real v[3](each start = 0, each unit = "rad/s")  "velocities of the joints";
  Real vm[2](each start = 0, each unit = "rad/s") "velocities of the motors";
  Real u[if form == 0 then 2 else 0](each start = 0, each nominal = 1e4, each unit = "N.m") "torques of the motors";
  Real a[if form == 1 then 2 else 0](each start = 0, each unit = "rad/s2") "stand for der(v[1]), der(v[2])";
initial equation
  // at rest
  v[3] = 0;
  der(v[3]) = 0;
  vm = {0, 0};
equation
  // the bodies, in their absolute angles: torque of the own joint less that of the next one
  for i in 1:3 loop
    sum(C[i, b]*(if linear then cos(sum(linearAt[1:i]) - sum(linearAt[1:b])) else cos(sum(q[1:i]) - sum(q[1:b])))
        *sum(if form == 1 and c <= 2 then a[c] else der(v[c]) for c in 1:b) for b in 1:3)
    + (if linear then 0 else
       sum(C[i, b]*sin(sum(q[1:i]) - sum(q[1:b]))*sum(v[1:b])^2 for b in 1:3) - g*weight[i]*cos(sum(q[1:i])))
    = (if i < 3 then k[i]*(qm[i] - q[i]) + d[i]*(vm[i] - v[i]) else -k[3]*q[3] - d[3]*v[3])
      - (if i == 1 then k[2]*(qm[2] - q[2]) + d[2]*(vm[2] - v[2])
         elseif i == 2 then -k[3]*q[3] - d[3]*v[3] else 0);
  end for;
  if form == 0 then
    for i in 1:2 loop
      Jm[i]*der(vm[i]) + k[i]*(qm[i] - q[i]) + d[i]*(vm[i] - v[i]) = u[i];
    end for;
  end if;
  if form == 0 or form == 3 then
    der(q[1]) = v[1];
    der(q[2]) = v[2];
  end if;
  der(q[3]) = v[3];
  der(qm) = vm;
  // the tool is on the line
  sum(l[b]*cos(sum(q[1:b])) for b in 1:3) = xStart + (xEnd - xStart)*smoothStep(time, T);
  -sum(l[b]*sin(sum(q[1:b])) for b in 1:3) = zStart + (zEnd - zStart)*smoothStep(time, T);
  if form == 1 or form == 2 then
    -sum(l[b]*sin(sum(q[1:b]))*sum(v[1:b]) for b in 1:3) = (xEnd - xStart)*der(smoothStep(time, T));
    -sum(l[b]*cos(sum(q[1:b]))*sum(v[1:b]) for b in 1:3) = (zEnd - zStart)*der(smoothStep(time, T));
  end if;
  if form == 1 then
    -sum(l[b]*(sin(sum(q[1:b]))*sum(if c <= 2 then a[c] else der(v[c]) for c in 1:b)
               + cos(sum(q[1:b]))*sum(v[1:b])^2) for b in 1:3) = (xEnd - xStart)*der(der(smoothStep(time, T)));
    -sum(l[b]*(cos(sum(q[1:b]))*sum(if c <= 2 then a[c] else der(v[c]) for c in 1:b)
               - sin(sum(q[1:b]))*sum(v[1:b])^2) for b in 1:3) = (zEnd - zStart)*der(der(smoothStep(time, T)));
  end if;
  annotation(
    experiment(StartTime = 0, StopTime = 0.3, Tolerance = 1e-8),
    __daelight(draw = {
      {{sum(l[b]*cos(sum(q[1:b])) for b in 1:a), -sum(l[b]*sin(sum(q[1:b])) for b in 1:a)} for a in 0:3},
      {{xStart, zStart}, {xEnd, zEnd}}}));
end E12Forms;
