model Thermostat
  parameter Real Ta = 5, R = 2, C = 3, P = 12, Tset = 20, band = 1;
  Real T(start = 15, fixed = true), E(start = 0, fixed = true);
  Boolean heat(start = true, fixed = true);
  Integer n(start = 0, fixed = true);
equation
  C*der(T) = (Ta - T)/R + (if heat then P else 0);
  der(E) = if heat then P else 0;
  heat = if pre(heat) then T < Tset + band else T < Tset - band;
  when change(heat) then
    n = pre(n) + 1;
  end when;
end Thermostat;
