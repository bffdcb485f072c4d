model Brusselator "Reactions with diffusion on a line: 200 unknowns"
  parameter Integer n = 100;
  parameter Real alpha = 0.02;
  Real u[n](start = {1 + sin(2*3.141592653589793*i/(n + 1)) for i in 1:n}, each fixed = true);
  Real v[n](each start = 3, each fixed = true);
equation
  for i in 1:n loop
    der(u[i]) = 1 + u[i]^2*v[i] - 4*u[i]
      + alpha*(n + 1)^2*((if i > 1 then u[max(i - 1, 1)] else 1) - 2*u[i] + (if i < n then u[min(i + 1, n)] else 1));
    der(v[i]) = 3*u[i] - u[i]^2*v[i]
      + alpha*(n + 1)^2*((if i > 1 then v[max(i - 1, 1)] else 3) - 2*v[i] + (if i < n then v[min(i + 1, n)] else 3));
  end for;
  annotation(experiment(StopTime = 10));
end Brusselator;
