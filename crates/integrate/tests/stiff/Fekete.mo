model Fekete "Twenty charges on a sphere come to rest (index 2)"
  parameter Real pi = 3.141592653589793;
  parameter Real omega[20] = {2*pi/3 + pi/13, 4*pi/3 + pi/13, 2*pi + pi/13, 2*pi/7 + pi/29, 4*pi/7 + pi/29, 6*pi/7 + pi/29, 8*pi/7 + pi/29,
    10*pi/7 + pi/29, 12*pi/7 + pi/29, 2*pi + pi/29, pi/3 + pi/7, 2*pi/3 + pi/7, pi + pi/7, 4*pi/3 + pi/7, 5*pi/3 + pi/7, 2*pi + pi/7,
    pi/17, pi/2 + pi/17, pi + pi/17, 3*pi/2 + pi/17};
  parameter Real beta[20] = {3*pi/8, 3*pi/8, 3*pi/8, pi/8, pi/8, pi/8, pi/8, pi/8, pi/8, pi/8, -2*pi/15, -2*pi/15, -2*pi/15, -2*pi/15, -2*pi/15,
    -2*pi/15, -3*pi/10, -3*pi/10, -3*pi/10, -3*pi/10};
  Real p[20, 3](start = {{cos(omega[i])*cos(beta[i]), sin(omega[i])*cos(beta[i]), sin(beta[i])} for i in 1:20});
  Real q[20, 3](each start = 0);
  Real lambda[20], mu[20];
equation
  for i in 1:20 loop
    for k in 1:3 loop
      der(p[i, k]) = q[i, k] + 2*mu[i]*p[i, k];
      der(q[i, k]) = sum((p[i, k] - p[j, k])/((p[i, 1] - p[j, 1])^2 + (p[i, 2] - p[j, 2])^2 + (p[i, 3] - p[j, 3])^2
        + (if i == j then 1 else 0)) for j in 1:20) - 0.5*q[i, k] + 2*lambda[i]*p[i, k];
    end for;
    p[i, 1]^2 + p[i, 2]^2 + p[i, 3]^2 = 1;
    2*(p[i, 1]*q[i, 1] + p[i, 2]*q[i, 2] + p[i, 3]*q[i, 3]) = 0;
  end for;
  annotation(experiment(StopTime = 20));
end Fekete;
