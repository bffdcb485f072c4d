model Cradle "Two balls in a row; the first hits the second, which hits a wall"
  parameter Real e = 0.8;
  Real x1(start = 0, fixed = true), v1(start = 1, fixed = true), x2(start = 1, fixed = true), v2(start = 0, fixed = true);
  Integer hits(start = 0, fixed = true);
equation
  der(x1) = v1; der(x2) = v2; der(v1) = 0; der(v2) = 0;
  when x1 > x2 then
    reinit(v1, ((1 - e)*pre(v1) + (1 + e)*pre(v2))/2);
    reinit(v2, ((1 + e)*pre(v1) + (1 - e)*pre(v2))/2);
    hits = pre(hits) + 1;
  end when;
  when x2 > 2 then
    reinit(v2, -e*v2);
  end when;
end Cradle;
