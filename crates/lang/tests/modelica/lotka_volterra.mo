// Three species, with a matrix of interactions.
// count: 4 equations, 4 unknowns (x[3], total; one vector equation, one sum)
model LotkaVolterra
  parameter Integer n = 3;
  parameter Real r[n] = {1.0, -0.3, -0.8};
  parameter Real A[n, n] = [0, -0.5, -0.1;
                            0.25, 0, -0.4;
                            0.05, 0.3, 0];
  Real x[n](start = {4, 2, 1}, each min = 0, each fixed = true);
  Real total;
equation
  der(x) = x.*(r + A*x);
  total = sum(x[i] for i in 1:n);
end LotkaVolterra;
