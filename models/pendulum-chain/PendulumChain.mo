model PendulumChain "N point masses on a chain of rigid links (index 3)"
  parameter Integer N(min = 1) = 10 "number of links";
  parameter Real g(unit = "m/s2") = 9.81;
  // straight, 45 degrees below the horizontal, at rest; masses and lengths are 1
  Real x[N](start = {i*sqrt(0.5) for i in 1:N}, each unit = "m");
  Real y[N](start = {-i*sqrt(0.5) for i in 1:N}, each fixed = true, each unit = "m");
  Real vx[N](each start = 0, each unit = "m/s");
  Real vy[N](each start = 0, each fixed = true, each unit = "m/s");
  Real lambda[N](each start = 0) "force in each link";
equation
  for i in 1:N loop
    der(x[i]) = vx[i];
    der(y[i]) = vy[i];
  end for;
  // each mass is pulled by the link above and the link below
  if N == 1 then
    der(vx[1]) = -lambda[1]*x[1];
    der(vy[1]) = -lambda[1]*y[1] - g;
  else
    der(vx[1]) = -lambda[1]*x[1] + lambda[2]*(x[2] - x[1]);
    der(vy[1]) = -lambda[1]*y[1] + lambda[2]*(y[2] - y[1]) - g;
    for i in 2:N - 1 loop
      der(vx[i]) = -lambda[i]*(x[i] - x[i - 1]) + lambda[i + 1]*(x[i + 1] - x[i]);
      der(vy[i]) = -lambda[i]*(y[i] - y[i - 1]) + lambda[i + 1]*(y[i + 1] - y[i]) - g;
    end for;
    der(vx[N]) = -lambda[N]*(x[N] - x[N - 1]);
    der(vy[N]) = -lambda[N]*(y[N] - y[N - 1]) - g;
  end if;
  // the first link hangs from the origin
  x[1]^2 + y[1]^2 = 1;
  for i in 2:N loop
    (x[i] - x[i - 1])^2 + (y[i] - y[i - 1])^2 = 1;
  end for;
  annotation(
    experiment(StartTime = 0, StopTime = 1, Tolerance = 1e-6),
    __daelight(draw = {cat(1, {{0, 0}}, {{x[i], y[i]} for i in 1:N})}));
end PendulumChain;
