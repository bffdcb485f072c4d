model Heat "Conduction through 2000 cells; every mode decays by itself"
  parameter Integer n = 2000;
  Real u[n](start = {sin(3.141592653589793*i/(n + 1)) + 0.5*sin(31.41592653589793*i/(n + 1)) for i in 1:n}, each fixed = true);
equation
  for i in 1:n loop
    der(u[i]) = (n + 1)^2*((if i > 1 then u[max(i - 1, 1)] else 0) - 2*u[i] + (if i < n then u[min(i + 1, n)] else 0));
  end for;
  annotation(experiment(StopTime = 0.02));
end Heat;
