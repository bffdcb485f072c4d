model Index3Toy "A chain of two integrators run backwards (index 3)"
  parameter Integer signal = 1 "1: u = sin(time), 2: u = exp(time)";
  Real x1(start = 0);
  Real x2(start = -1);
  Real x3(start = 0);
equation
  der(x2) = x1;
  der(x3) = x2;
  0 = x3 + (if signal == 1 then sin(time) else exp(time));
  annotation(experiment(StartTime = 0, StopTime = 1, Tolerance = 1e-8));
end Index3Toy;
