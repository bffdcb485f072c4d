function h1 "First inhomogeneity; with defect = 0, h1' = t*h2'"
  input Real t, defect;
  output Real y;
algorithm
  y := t*sin(t) + cos(t) + defect*t;
end h1;

function h2 "Second inhomogeneity"
  input Real t;
  output Real y;
algorithm
  y := sin(t);
end h2;

model KmSingular "Linear, singular: one free function, one condition on the right-hand side"
  parameter Real defect = 0 "other than 0: the equations contradict each other";
  Real x1(start = 1);
  Real x2(start = 0) "free: any function will do";
equation
  -time*der(x1) + time^2*der(x2) = -x1 + h1(time, defect);
  -der(x1) + time*der(x2) = -x2 + h2(time);
  annotation(experiment(StartTime = 0, StopTime = 1, Tolerance = 1e-8));
end KmSingular;
