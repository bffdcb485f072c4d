model StringPendulum "A mass on a string: taut, slack, and pulled when it is taut again"
  parameter Real L = 1, g = 9.81, m = 1;
  Real x(start = 0, fixed = true), y(start = -1);
  Real vx(start = 5.5, fixed = true), vy;
  Real F "pull of the string per length";
  Boolean taut(start = true, fixed = true);
equation
  der(x) = vx;
  der(y) = vy;
  m*der(vx) = -F*x;
  m*der(vy) = -F*y - m*g;
  if taut then
    x^2 + y^2 = L^2;
  else
    F = 0;
  end if;
  when F < 0 then
    taut = false;
  elsewhen x^2 + y^2 > L^2 then
    taut = true;
  end when;
  annotation(__daelight(energy = m*(vx^2 + vy^2)/2 + m*g*y));
end StringPendulum;
