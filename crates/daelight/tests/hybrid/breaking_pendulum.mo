model BreakingPendulum "The rod breaks: from index 3 to free fall"
  parameter Real L = 1.2, g = 9.81, m = 0.8, tb = 1;
  Real x(start = 0.9, fixed = true), y(start = -0.8), vx(start = 0, fixed = true), vy, F;
  Boolean broken(start = false, fixed = true);
equation
  der(x) = vx;
  der(y) = vy;
  m*der(vx) = -x*F/L;
  m*der(vy) = -y*F/L - m*g;
  if not broken then
    x^2 + y^2 = L^2;
  else
    F = 0;
  end if;
  when time >= tb then
    broken = true;
  end when;
end BreakingPendulum;
