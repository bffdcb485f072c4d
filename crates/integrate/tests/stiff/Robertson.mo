model Robertson "Robertson's kinetics: three species, rates over nine decades"
  Real y1(start = 1, fixed = true);
  Real y2(start = 0, fixed = true, nominal = 1e-5);
  Real y3(start = 0, fixed = true);
equation
  der(y1) = -0.04*y1 + 1e4*y2*y3;
  der(y2) = 0.04*y1 - 1e4*y2*y3 - 3e7*y2^2;
  der(y3) = 3e7*y2^2;
  annotation(experiment(StopTime = 1e11));
end Robertson;
