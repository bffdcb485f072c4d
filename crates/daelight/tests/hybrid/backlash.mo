model Backlash "Two inertias with play between them: elastic contact on either side"
  parameter Real J1 = 1, J2 = 2, b = 0.1, c = 50;
  Real p1(start = 0, fixed = true), p2(start = 0, fixed = true), w1(start = 1, fixed = true), w2(start = 0, fixed = true), tau, d;
  Integer side;
equation
  der(p1) = w1; der(p2) = w2;
  J1*der(w1) = -tau;
  J2*der(w2) = tau;
  d = p1 - p2;
  side = if d > b then 1 elseif d < -b then -1 else 0;
  tau = if side == 1 then c*(d - b) elseif side == -1 then c*(d + b) else 0;
  when change(side) then
    assert(abs(d) > b/2, "not at the border");
  end when;
end Backlash;
