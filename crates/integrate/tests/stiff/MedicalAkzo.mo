model MedicalAkzo "Penetration of antibodies into tissue: 400 unknowns, a jump of the boundary value at t = 5"
  parameter Integer n = 200;
  parameter Real k = 100, c = 4, d = 1/n;
  Real u[n](each start = 0, each fixed = true), v[n](each start = 1, each fixed = true);
  Real phi;
equation
  phi = if time <= 5 then 2 else 0;
  for j in 1:n loop
    der(u[j]) = 2*(j*d - 1)^3/c^2*((if j < n then u[min(j + 1, n)] else u[n]) - (if j > 1 then u[max(j - 1, 1)] else phi))/(2*d)
      + (j*d - 1)^4/c^2*((if j > 1 then u[max(j - 1, 1)] else phi) - 2*u[j] + (if j < n then u[min(j + 1, n)] else u[n]))/d^2
      - k*u[j]*v[j];
    der(v[j]) = -k*u[j]*v[j];
  end for;
  annotation(experiment(StopTime = 20));
end MedicalAkzo;
