model Stribeck "A block pulled by a spring whose end moves; friction falls with speed; three states"
  parameter Real m = 1, k = 10, ve = 0.1, Fc = 1, Fs = 1.6, vs = 0.05;
  Real x(start = 0, fixed = true), v(start = 0, fixed = true), F, pull;
  Boolean stuck(start = true, fixed = true);
  Integer slips(start = 0, fixed = true);
equation
  der(x) = v;
  m*der(v) = pull - F;
  pull = k*(ve*time - x);
  if stuck then
    v = 0;
  else
    F = Fc + (Fs - Fc)*exp(-(v/vs)^2);
  end if;
  when pull > Fs then
    stuck = false;
    slips = pre(slips) + 1;
  elsewhen v < 0 then
    stuck = true;
  end when;
end Stribeck;
