model StickSlip "A mass on a belt, held by a spring"
  parameter Real m = 1, k = 1, vb = 0.2, Fs = 1.5, Fd = 1;
  Real x(start = 0, fixed = true), v(start = 0.2, fixed = true), F;
  Boolean stick(start = true, fixed = true);
  Integer n(start = 0, fixed = true);
equation
  der(x) = v;
  m*der(v) = -k*x + F;
  if stick then
    v = vb;
  else
    F = Fd;
  end if;
  when F > Fs then
    stick = false;
    n = pre(n) + 1;
  elsewhen v > vb then
    stick = true;
  end when;
end StickSlip;
