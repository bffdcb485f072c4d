model Buck "A buck converter: an ideal switch with a clock, an ideal diode, discontinuous current"
  parameter Real U = 24, L = 2e-4, C = 1e-4, R = 100, T = 1e-4, duty = 0.4;
  Real i(start = 0, fixed = true), v(start = 0, fixed = true), u;
  Boolean closed(start = true, fixed = true), conducting;
  discrete Real t0(start = 0, fixed = true);
equation
  when sample(0, T) then
    t0 = time;
  end when;
  closed = time < t0 + duty*T;
  conducting = closed or i > 0;
  L*der(i) = u - v;
  C*der(v) = i - v/R;
  if closed then
    u = U;
  elseif conducting then
    u = 0;
  else
    der(i) = 0;
  end if;
end Buck;
