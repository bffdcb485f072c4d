model DeltaRobot "A nacelle carried by three arms and three rods"
  constant Real pi = 3.14159265358979323846;
  parameter Real L(unit = "m") = 0.5     "length of the rods";
  parameter Real l(unit = "m") = 0.3     "length of the arms";
  parameter Real d(unit = "m") = 0.15    "distance of the motors from the centre";
  parameter Real m(unit = "kg") = 0.4    "mass of the nacelle";
  parameter Real M(unit = "kg") = 0.2    "mass of an arm";
  parameter Real J(unit = "kg.m2") = 0.05 "inertia of an arm about its motor";
  parameter Real g(unit = "m/s2") = 9.81;
  parameter Real sgn = 1 "sign of the arms' potential: 1 as published, -1 physical";
  parameter Real gamma[3](each unit = "rad") = {0, 2*pi/3, 4*pi/3} "directions of the motors";
  Real p[3](start = {0.03, -0.02, -0.38}, each unit = "m") "position of the nacelle";
  Real alpha[3](start = {0.3, 0.5, 0.4}, each fixed = true, each unit = "rad") "arms, downwards from the horizontal";
  Real z[3](each start = 2) "force in each rod, per twice its length";
initial equation
  der(alpha) = {0.2, -0.1, 0.3};
equation
  lagrange(
    0.5*m*der(p)*der(p) + 0.5*J*der(alpha)*der(alpha),
    m*g*p[3] + sgn*0.5*M*g*l*sum(sin(alpha[k]) for k in 1:3),
    cat(1, p, alpha),
    // the distance from the end of each arm to the nacelle is L
    {(p[1] - cos(gamma[k])*(d + l*cos(alpha[k])))^2
     + (p[2] - sin(gamma[k])*(d + l*cos(alpha[k])))^2
     + (p[3] + l*sin(alpha[k]))^2 - L^2 for k in 1:3},
    z);
  annotation(
    experiment(StartTime = 0, StopTime = 0.25, Tolerance = 1e-8),
    __daelight(draw = {
      {{d, 0, 0},
       {d + l*cos(alpha[1]), 0, -l*sin(alpha[1])}, p},
      {{cos(gamma[2])*d, sin(gamma[2])*d, 0},
       {cos(gamma[2])*(d + l*cos(alpha[2])), sin(gamma[2])*(d + l*cos(alpha[2])), -l*sin(alpha[2])}, p},
      {{cos(gamma[3])*d, sin(gamma[3])*d, 0},
       {cos(gamma[3])*(d + l*cos(alpha[3])), sin(gamma[3])*(d + l*cos(alpha[3])), -l*sin(alpha[3])}, p},
      {{d*cos(gamma[k]), d*sin(gamma[k]), 0} for k in {1, 2, 3, 1}}}));
end DeltaRobot;
