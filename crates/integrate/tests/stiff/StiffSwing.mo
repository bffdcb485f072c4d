model StiffSwing "A bob on a rigid rod, and another on a stiff damped spring below it (index 3)"
  parameter Real g = 9.81, k = 1e6, d = 2e3;
  Real x1(start = 1), y1(start = 0), vx1(start = 0), vy1(start = 0);
  Real x2(start = 1), y2(start = -1, fixed = true), vx2(start = 0), vy2(start = 0);
  Real s, force, lambda;
equation
  s = sqrt((x2 - x1)^2 + (y2 - y1)^2);
  force = k*(s - 1) + d*((x2 - x1)*(vx2 - vx1) + (y2 - y1)*(vy2 - vy1))/s;
  der(x1) = vx1;
  der(y1) = vy1;
  der(x2) = vx2;
  der(y2) = vy2;
  der(vx1) = -lambda*x1 + force*(x2 - x1)/s;
  der(vy1) = -g - lambda*y1 + force*(y2 - y1)/s;
  der(vx2) = -force*(x2 - x1)/s;
  der(vy2) = -g - force*(y2 - y1)/s;
  x1^2 + y1^2 = 1;
  annotation(experiment(StopTime = 2));
end StiffSwing;
