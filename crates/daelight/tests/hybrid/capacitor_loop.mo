model CapacitorLoop "An ideal diode that closes a loop of two capacitors"
  parameter Real C1 = 1, C2 = 2;
  Real v1(start = 0, fixed = true), v2(start = 1, fixed = true), i, u, s;
  Boolean on(start = false, fixed = true);
equation
  C1*der(v1) = 1 - i;
  C2*der(v2) = i - 0.1*v2;
  u = v1 - v2;
  on = s > 0;
  u = if on then 0 else s;
  i = if on then s else 0;
  when time > 100 then
    terminate("long enough");
  end when;
end CapacitorLoop;
