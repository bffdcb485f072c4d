model Valve "A valve with three positions, two thresholds with hysteresis"
  type Position = enumeration(closed, half, open);
  Position p(start = Position.closed, fixed = true);
  Real h(start = 0.1, fixed = true), q;
  Integer moves(start = 0, fixed = true);
equation
  der(h) = 1 - q;
  q = if p == Position.closed then 0 elseif p == Position.half then 0.8 else 2.5;
  when h > 1 then
    p = Position.half;
    moves = pre(moves) + 1;
  elsewhen h > 2 then
    p = Position.open;
    moves = pre(moves) + 1;
  elsewhen h < 0.5 then
    p = Position.closed;
    moves = pre(moves) + 1;
  end when;
end Valve;
