model ThreePhaseMax "A three-phase rectifier written by its greatest and least voltage"
  parameter Real U = 325, f = 50, R = 20, L = 0.05;
  constant Real pi = 3.14159265358979323846;
  Real v[3], i(start = 0, fixed = true), ud;
  Integer top(start = 1), bottom(start = 2);
equation
  for k in 1:3 loop
    v[k] = U*sin(2*pi*f*time - (k - 1)*2*pi/3);
  end for;
  top = if v[1] > v[2] and v[1] > v[3] then 1 elseif v[2] > v[3] then 2 else 3;
  bottom = if v[1] < v[2] and v[1] < v[3] then 1 elseif v[2] < v[3] then 2 else 3;
  ud = (if top == 1 then v[1] elseif top == 2 then v[2] else v[3]) - (if bottom == 1 then v[1] elseif bottom == 2 then v[2] else v[3]);
  L*der(i) + R*i = ud;
  when change(top) then
    assert(ud > 0, "the voltage is positive");
  end when;
end ThreePhaseMax;
