model AkzoNobel "Chemical Akzo Nobel problem: five reactions in a tank under carbon dioxide (index 1)"
  parameter Real k1 = 18.7, k2 = 0.58, k3 = 0.09, k4 = 0.42 "rate constants";
  parameter Real K = 34.4     "equilibrium constant";
  parameter Real klA = 3.3    "mass transfer coefficient of the gas";
  parameter Real Ks = 115.83  "equilibrium constant of the algebraic equation";
  parameter Real p_CO2 = 0.9  "pressure of carbon dioxide";
  parameter Real H = 737      "Henry constant";
  Real y1(start = 0.444, fixed = true);
  Real y2(start = 0.00123, fixed = true, nominal = 1e-3);
  Real y3(start = 0, fixed = true);
  Real y4(start = 0.007, fixed = true, nominal = 1e-3);
  Real y5(start = 0, fixed = true, nominal = 1e-2);
  Real y6(start = 0.36);
equation
  // The rates: r1 = k1*y1^4*sqrt(y2), r2 = k2*y3*y4, r3 = k2/K*y1*y5, r4 = k3*y1*y4^2, r5 = k4*y6^2*sqrt(y2)
  der(y1) = -2*k1*y1^4*sqrt(y2) + k2*y3*y4 - k2/K*y1*y5 - k3*y1*y4^2;
  der(y2) = -0.5*k1*y1^4*sqrt(y2) - k3*y1*y4^2 - 0.5*k4*y6^2*sqrt(y2) + klA*(p_CO2/H - y2);
  der(y3) = k1*y1^4*sqrt(y2) - k2*y3*y4 + k2/K*y1*y5;
  der(y4) = -k2*y3*y4 + k2/K*y1*y5 - 2*k3*y1*y4^2;
  der(y5) = k2*y3*y4 - k2/K*y1*y5 + k4*y6^2*sqrt(y2);
  0 = Ks*y1*y4 - y6;
  annotation(experiment(StartTime = 0, StopTime = 180, Tolerance = 1e-8));
end AkzoNobel;
