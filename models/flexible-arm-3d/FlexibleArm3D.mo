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

function direction "A rod at an azimuth and an elevation, bent sideways"
  input Real azimuth, elevation, bend;
  output Real d[3];
algorithm
  d := {cos(bend)*cos(elevation)*cos(azimuth) - sin(bend)*sin(azimuth),
        cos(bend)*cos(elevation)*sin(azimuth) + sin(bend)*cos(azimuth),
        cos(bend)*sin(elevation)};
end direction;

model FlexibleArm3D "Which torques lead the tool of a spatial arm with three motors and two more elastic joints? (index 4)"
  // a column, an upper arm, a forearm and a tool; the arms are rods with inertia j across their axes
  parameter Real h(unit = "m") = 0.5                            "height of the shoulder";
  parameter Real J(unit = "kg.m2") = 20                         "inertia of the column";
  parameter Real m[3](each unit = "kg") = {60, 40, 60}          "masses of upper arm, forearm and tool";
  parameter Real l[3](each unit = "m") = {1, 0.8, 0.2}          "lengths";
  parameter Real xi[3](each unit = "m") = {0.5, 0.3, 0.05}      "centres of mass";
  parameter Real j[3](each unit = "kg.m2") = {5, 5, 40}         "inertias about the centres of mass";
  parameter Real kg[3](each unit = "N.m/rad") = {1e5, 1e5, 1e5} "stiffnesses of the gears";
  parameter Real dg[3](each unit = "N.m.s/rad") = {100, 100, 100} "dampings of the gears";
  parameter Real ke[2](each unit = "N.m/rad") = {2e5, 1e5}      "stiffnesses of elbow, sideways, and of the wrist";
  parameter Real de[2](each unit = "N.m.s/rad") = {200, 100}    "their dampings";
  parameter Real Jm[3](each unit = "kg.m2") = {50, 50, 50}      "inertias of the motors";
  parameter Real g(unit = "m/s2") = 9.81                        "gravity, downwards";
  parameter Real start[3](each unit = "rad") = {0.3, 0.9, -1.2} "joints at the start, without load";
  parameter Real move[3](each unit = "m") = {-0.2, 0.3, 0.2}    "by which the tool moves on a straight line";
  parameter Real T(unit = "s") = 0.5                            "duration of the movement";
  final parameter Real tool[3] = {0, 0, h} + l[1]*direction(start[1], start[2], 0)
    + (l[2] + l[3])*direction(start[1], start[2] + start[3], 0);
  Real q[3](start = start, each unit = "rad")  "joints: column, shoulder, elbow";
  Real e[2](each start = 0, each unit = "rad") "elastic joints: elbow sideways, wrist";
  Real qm[3](start = start, each unit = "rad") "motors";
  Real u[3](each start = 0, each nominal = 1e3, each unit = "N.m") "torques of the motors";
initial equation
  // at rest
  der(e) = zeros(2);
  der(der(e)) = zeros(2);
  der(qm) = zeros(3);
equation
  lagrange(
    // kinetic energy: the column, then motion and rotation of each rod, the motors
    0.5*J*der(q[1])^2
    + 0.5*m[1]*der(xi[1]*direction(q[1], q[2], 0))*der(xi[1]*direction(q[1], q[2], 0))
    + 0.5*j[1]*der(direction(q[1], q[2], 0))*der(direction(q[1], q[2], 0))
    + 0.5*m[2]*der(l[1]*direction(q[1], q[2], 0) + xi[2]*direction(q[1], q[2] + q[3], e[1]))
              *der(l[1]*direction(q[1], q[2], 0) + xi[2]*direction(q[1], q[2] + q[3], e[1]))
    + 0.5*j[2]*der(direction(q[1], q[2] + q[3], e[1]))*der(direction(q[1], q[2] + q[3], e[1]))
    + 0.5*m[3]*der(l[1]*direction(q[1], q[2], 0) + l[2]*direction(q[1], q[2] + q[3], e[1])
                   + xi[3]*direction(q[1], q[2] + q[3] + e[2], e[1]))
              *der(l[1]*direction(q[1], q[2], 0) + l[2]*direction(q[1], q[2] + q[3], e[1])
                   + xi[3]*direction(q[1], q[2] + q[3] + e[2], e[1]))
    + 0.5*j[3]*der(direction(q[1], q[2] + q[3] + e[2], e[1]))*der(direction(q[1], q[2] + q[3] + e[2], e[1]))
    + 0.5*sum(Jm[i]*der(qm[i])^2 for i in 1:3),
    // potential energy: springs, gravity
    0.5*sum(kg[i]*(q[i] - qm[i])^2 for i in 1:3) + 0.5*sum(ke[i]*e[i]^2 for i in 1:2)
    + g*((m[1]*xi[1] + (m[2] + m[3])*l[1])*sin(q[2])
         + (m[2]*xi[2] + m[3]*l[2])*cos(e[1])*sin(q[2] + q[3])
         + m[3]*xi[3]*cos(e[1])*sin(q[2] + q[3] + e[2])),
    cat(1, q, e, qm),
    zeros(0), zeros(0),
    // forces: the dampers, the motors
    cat(1, {-dg[i]*(der(q[i]) - der(qm[i])) for i in 1:3},
           {-de[i]*der(e[i]) for i in 1:2},
           {u[i] + dg[i]*(der(q[i]) - der(qm[i])) for i in 1:3}));
  // the tool is on the line
  {0, 0, h} + l[1]*direction(q[1], q[2], 0) + l[2]*direction(q[1], q[2] + q[3], e[1])
    + l[3]*direction(q[1], q[2] + q[3] + e[2], e[1]) = tool + move*smoothStep(time, T);
  annotation(
    experiment(StartTime = 0, StopTime = 0.5, Tolerance = 1e-8),
    __daelight(draw = {{{0, 0, 0}, {0, 0, h},
      {0, 0, h} + l[1]*direction(q[1], q[2], 0),
      {0, 0, h} + l[1]*direction(q[1], q[2], 0) + l[2]*direction(q[1], q[2] + q[3], e[1]),
      {0, 0, h} + l[1]*direction(q[1], q[2], 0) + l[2]*direction(q[1], q[2] + q[3], e[1])
        + l[3]*direction(q[1], q[2] + q[3] + e[2], e[1])}}));
end FlexibleArm3D;
