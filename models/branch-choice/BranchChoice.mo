model BranchChoice "Equations whose kind depends on the initial values"
  // x2 starts apart from x1: an ODE with der(x2) = -1.
  // With --set x20=0.5 it starts on x1 = x2 and may stay there: a DAE of index 1.
  parameter Real x10 = 0.5 "initial value of x1";
  parameter Real x20 = 0   "initial value of x2";
  input Real u = sin(time);
  Real x1(start = x10, fixed = true);
  Real x2(start = x20, fixed = true);
equation
  der(x1) + x1 - u = 0;
  (x1 - x2)*der(x2) + x1 - x2 = 0;
  annotation(experiment(StartTime = 0, StopTime = 1, Tolerance = 1e-8));
end BranchChoice;
