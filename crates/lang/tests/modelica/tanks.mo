// Tanks in a row, each emptied by Torricelli's law and overflowing above its rim.
// count: 11 equations, 11 unknowns (h[3], q[4], over[3], volume; 3 + 3 + 3 + 1 for q[1] + 1)
model Tanks
  parameter Integer n = 3;
  parameter Real A[n] = linspace(1, 2, n), a = 0.02, g = 9.81, rim = 1.5;
  parameter Boolean pumped = false;
  parameter String liquid = "water";
  Real h[n](each start = 1, each min = 0), q[n + 1], over[n], volume;
  Boolean full = h[1] >= rim;
equation
  assert(a > 0, "the outlet must be open");
  if pumped then
    q[1] = 0.05;
  else
    q[1] = if time < 10 then 0.1 else if time < 20 and not full then 0.05 else 0;
  end if;
  for i in 1:n loop
    q[i + 1] = a*sign(h[i])*sqrt(2*g*abs(h[i]));
    over[i] = if h[i] > rim then 5*(h[i] - rim) else 0;
    A[i]*der(h[i]) = q[i] - q[i + 1] - over[i];
  end for;
  volume = A*h;
end Tanks;
