// Robertson's reaction with the conservation law instead of the third balance.
// count: 3 equations, 3 unknowns (y1, y2, y3; two balances, one conservation law)
model Robertson
  constant Real k[3] = {0.04, 3e7, 1e4};
  Real y1(start = 1, nominal = 1, fixed = true);
  Real y2(start = 0, nominal = 1e-5, fixed = true);
  Real y3(start = 0, nominal = 1);
equation
  der(y1) = -k[1]*y1 + k[3]*y2*y3;
  der(y2) = k[1]*y1 - k[3]*y2*y3 - k[2]*y2^2;
  0 = y1 + y2 + y3 - 1;
  annotation(experiment(StopTime = 4e10, Tolerance = 1E-10));
end Robertson;
