model Thyristor "Phase control of a resistive-inductive load by an ideal thyristor"
  parameter Real U = 325, f = 50, R = 10, L = 0.02, alpha = 1.2;
  parameter Real w = 2*3.14159265358979323846*f;
  Real u, i(start = 0, fixed = true), v;
  Boolean fire, on(start = false, fixed = true);
equation
  u = U*sin(w*time);
  L*der(i) + R*i = v;
  fire = mod(w*time, 2*3.14159265358979323846) > alpha and mod(w*time, 2*3.14159265358979323846) < 3.14159265358979323846;
  on = fire and u > 0 or pre(on) and i > 0;
  if on then
    v = u;
  else
    der(i) = 0;
  end if;
end Thyristor;
