function f4 "Acceleration of the first link without torques"
  input Real x2, x3, x4, x6;
  input Real A2, A3, A4, K, NT;
  output Real y;
algorithm
  y := (A2*sin(x3)*(x4 + x6)^2 + A3*x4^2*sin(x3)*cos(x3)
        + K*(x3 - x2/NT)*(A2/A3*(NT - 1)/NT + cos(x3)))/(A4 - A3*cos(x3)^2);
end f4;

function g41 "Acceleration of the first link per torque"
  input Real x3;
  input Real A2, A3, A4;
  output Real y;
algorithm
  y := A2/(A3*(A4 - A3*cos(x3)^2));
end g41;

model RoboticArmGeneral "Two-link arm with an elastic joint, masses and lengths as parameters (index 5)"
  parameter Real m1 = 1  "mass of the first link, at the second joint";
  parameter Real mp = 1  "mass held at the end";
  parameter Real l1 = 1  "length of the first link";
  parameter Real l2 = 1  "length of the second link";
  parameter Real JRp = 1 "rotor inertia of the load";
  parameter Real JR1 = 1 "rotor inertia at the second joint";
  parameter Real K = 4   "stiffness of the second joint";
  parameter Real NT = 2  "transmission ratio of the second joint";
  final parameter Real A2 = JRp + mp*l2^2;
  final parameter Real A3 = mp*l1*l2;
  final parameter Real A4 = (m1 + mp)*l1*l2;
  final parameter Real A5 = (m1 + mp)*l1^2;
  Real x1(start =  0.00, unit = "rad") "rotation of the first link";
  Real x2(start =  0.21, unit = "rad") "rotation of the motor at the second joint";
  Real x3(start =  1.00, unit = "rad") "rotation of the second link relative to the first";
  Real x4(start = -1.00, unit = "rad/s");
  Real x5(start = -4.33, unit = "rad/s");
  Real x6(start =  0.00, unit = "rad/s");
  Real u1(start = -36.0) "torque at the first joint";
  Real u2(start = -31.3) "torque at the second joint";
equation
  der(x1) = x4;
  der(x2) = x5;
  der(x3) = x6;
  der(x4) = f4(x2, x3, x4, x6, A2, A3, A4, K, NT) + g41(x3, A2, A3, A4)*(u1 - u2);
  der(x5) = -f4(x2, x3, x4, x6, A2, A3, A4, K, NT)
            + K/NT*(x3 - x2/NT)*(1/JR1 - 2*g41(x3, A2, A3, A4))
            - g41(x3, A2, A3, A4)*(u1 - u2) + u2/JR1;
  der(x6) = -f4(x2, x3, x4, x6, A2, A3, A4, K, NT)
            - (K*(x3 - x2/NT)*(A5/A3 - (3*NT + 1)/NT*cos(x3))
               + A5*x4^2*sin(x3) + A3*sin(x3)*cos(x3)*(x4 + x6)^2)/(A4 - A3*cos(x3)^2)
            - (g41(x3, A2, A3, A4) + cos(x3)/(A4 - A3*cos(x3)^2))*(u1 - u2);
  // the end of the outer link is on the path
  l1*cos(x1) + l2*cos(x1 + x3) = cos(exp(time) - 1) + cos(time - 1);
  l1*sin(x1) + l2*sin(x1 + x3) = sin(1 - exp(time)) + sin(1 - time);
  annotation(
    experiment(StartTime = 0, StopTime = 1, Tolerance = 1e-8),
    __daelight(draw = {{{0, 0}, {l1*cos(x1), l1*sin(x1)},
                        {l1*cos(x1) + l2*cos(x1 + x3), l1*sin(x1) + l2*sin(x1 + x3)}}}));
end RoboticArmGeneral;
