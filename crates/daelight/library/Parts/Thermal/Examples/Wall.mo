within Parts.Thermal.Examples;
model Wall "Heat spreads along a row of cells with closed ends"
  parameter Integer N = 8 "Cells";
  Store cell[N](each C = 5, T(start = {300 + 20*cos(3.141592653589793*(i - 0.5)/N) for i in 1:N}, each fixed = true));
  Conductor link[N - 1](each G = 2);
equation
  for i in 1:N - 1 loop
    connect(cell[i].port, link[i].a);
    connect(link[i].b, cell[i + 1].port);
  end for;
  annotation(experiment(StopTime = 20));
end Wall;
