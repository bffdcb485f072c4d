model InputSwitch "An equation that is an ODE or not, depending on its input"
  input Real u = cos(time) "where u = 0 the equation is algebraic";
  Real x(start = 1, fixed = true);
equation
  u*der(x) + x = 0;
  annotation(experiment(StartTime = 0, StopTime = 2, Tolerance = 1e-8));
end InputSwitch;
