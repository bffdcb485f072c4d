model ThreePhase "Six diodes feed a resistor and an inductor"
  parameter Real U = 325, f = 50, R = 20, L = 0.05, Ron = 1e-5, Goff = 1e-5;
  constant Real pi = 3.14159265358979323846;
  Real v[3], top[3], bottom[3], vp, vm, i(start = 0, fixed = true), st[3], sb[3];
  Boolean ont[3](each start = false), onb[3](each start = false);
equation
  for k in 1:3 loop
    v[k] = U*sin(2*pi*f*time - (k - 1)*2*pi/3);
    ont[k] = st[k] > 0;
    v[k] - vp = st[k]*(if ont[k] then Ron else 1);
    top[k] = st[k]*(if ont[k] then 1 else Goff);
    onb[k] = sb[k] > 0;
    vm - v[k] = sb[k]*(if onb[k] then Ron else 1);
    bottom[k] = sb[k]*(if onb[k] then 1 else Goff);
  end for;
  i = sum(top);
  i = sum(bottom);
  L*der(i) + R*i = vp - vm;
end ThreePhase;
