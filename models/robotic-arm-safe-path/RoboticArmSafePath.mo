function a
  input Real z;
  output Real y;
algorithm
  y := 2/(2 - cos(z)^2);
end a;

function b
  input Real z;
  output Real y;
algorithm
  y := cos(z)/(2 - cos(z)^2);
end b;

function c
  input Real z;
  output Real y;
algorithm
  y := sin(z)/(2 - cos(z)^2);
end c;

function d
  input Real z;
  output Real y;
algorithm
  y := cos(z)*sin(z)/(2 - cos(z)^2);
end d;

model RoboticArmSafePath "Two-link arm with an elastic joint on a path without singularities (index 5)"
  Real x1(start =  6.00, unit = "rad") "rotation of the first link";
  Real x2(start =  4.92, unit = "rad") "rotation of the motor at the second joint";
  Real x3(start =  2.48, unit = "rad") "rotation of the second link relative to the first";
  Real x4(start = -1.00, unit = "rad/s");
  Real x5(start =  0.33, unit = "rad/s");
  Real x6(start =  0.14, unit = "rad/s");
  Real x7(start = -0.22) "difference of the torques, u1 - u2";
  Real x8(start = -1.03) "torque u2";
equation
  der(x1) = x4;
  der(x2) = x5;
  der(x3) = x6;
  der(x4) =  2*c(x3)*(x4 + x6)^2 + x4^2*d(x3) + (2*x3 - x2)*(a(x3) + 2*b(x3)) + a(x3)*x7;
  der(x5) = -2*c(x3)*(x4 + x6)^2 - x4^2*d(x3) + (2*x3 - x2)*(1 - 3*a(x3) - 2*b(x3)) - a(x3)*x7 + x8;
  der(x6) = -2*c(x3)*(x4 + x6)^2 - x4^2*d(x3) + (2*x3 - x2)*(a(x3) - 9*b(x3))
            - (a(x3) + b(x3))*x7 - d(x3)*(x4 + x6)^2 - 2*x4^2*c(x3);
  // the end of the outer link is on the path
  cos(x1) + cos(x1 + x3) = cos(1 - time) + cos(3 + sin(time)/2 - time);
  sin(x1) + sin(x1 + x3) = sin(1 - time) + sin(3 + sin(time)/2 - time);
  annotation(
    experiment(StartTime = -5, StopTime = 5, Tolerance = 1e-8),
    __daelight(draw = {{{0, 0}, {cos(x1), sin(x1)}, {cos(x1) + cos(x1 + x3), sin(x1) + sin(x1 + x3)}}}));
end RoboticArmSafePath;
