model E5 "Pyrolysis: four species whose amounts end many decades apart"
  parameter Real A = 7.89e-10, B = 1.1e7, C = 1.13e3, M = 1e6;
  Real y1(start = 1.76e-3, fixed = true, nominal = 1e-3);
  Real y2(start = 0, fixed = true, nominal = 1e-10);
  Real y3(start = 0, fixed = true, nominal = 1e-12);
  Real y4(start = 0, fixed = true, nominal = 1e-12);
equation
  der(y1) = -A*y1 - B*y1*y3;
  der(y2) = A*y1 - M*C*y2*y3;
  der(y3) = A*y1 - B*y1*y3 - M*C*y2*y3 + C*y4;
  der(y4) = B*y1*y3 - C*y4;
  annotation(experiment(StopTime = 1e5));
end E5;
