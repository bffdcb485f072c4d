model Relay
  parameter Real low = 0.3, high = 0.7, tau = 0.5;
  Real x(start = 0, fixed = true);
  Boolean on(start = true, fixed = true);
equation
  tau*der(x) = (if on then 1 else 0) - x;
  on = not pre(on) and x < low or pre(on) and x <= high;
end Relay;
