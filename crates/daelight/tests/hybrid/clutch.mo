model Clutch
  parameter Real J1 = 1.3, J2 = 0.7, T = 2;
  Real w1(start = 3, fixed = true), w2(start = 0.5, fixed = true), tau;
  Boolean locked(start = false, fixed = true);
equation
  J1*der(w1) = T - tau;
  J2*der(w2) = tau - 0.4*w2;
  when {time > 1, time > 2} then
    locked = not pre(locked);
  end when;
  if locked then
    w1 = w2;
  else
    tau = 0;
  end if;
end Clutch;
