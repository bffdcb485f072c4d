model VanDerPol "Van der Pol's oscillator in relaxation"
  parameter Real eps = 1e-6;
  Real y1(start = 2, fixed = true);
  Real y2(start = 0, fixed = true);
equation
  der(y1) = y2;
  eps*der(y2) = (1 - y1^2)*y2 - y1;
  annotation(experiment(StopTime = 2));
end VanDerPol;
