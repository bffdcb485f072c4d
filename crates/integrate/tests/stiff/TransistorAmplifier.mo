model TransistorAmplifier "Two transistors (index 1)"
  parameter Real ub = 6, uf = 0.026, alpha = 0.99, beta = 1e-6, r0 = 1000, r = 9000;
  parameter Real c[5] = {1e-6, 2e-6, 3e-6, 4e-6, 5e-6};
  Real y[8](start = {0, ub/2, ub/2, ub, ub/2, ub/2, ub, 0});
  Real g1, g2;
equation
  g1 = beta*(exp((y[2] - y[3])/uf) - 1);
  g2 = beta*(exp((y[5] - y[6])/uf) - 1);
  c[1]*(der(y[2]) - der(y[1])) = (y[1] - 0.1*sin(200*3.141592653589793*time))/r0;
  c[1]*(der(y[1]) - der(y[2])) = y[2]*(1/r + 1/r) - ub/r + (1 - alpha)*g1;
  -c[2]*der(y[3]) = y[3]/r - g1;
  c[3]*(der(y[5]) - der(y[4])) = y[4]/r - ub/r + alpha*g1;
  c[3]*(der(y[4]) - der(y[5])) = y[5]*(1/r + 1/r) - ub/r + (1 - alpha)*g2;
  -c[4]*der(y[6]) = y[6]/r - g2;
  c[5]*(der(y[8]) - der(y[7])) = y[7]/r - ub/r + alpha*g2;
  c[5]*(der(y[7]) - der(y[8])) = y[8]/r;
  annotation(experiment(StopTime = 0.2));
end TransistorAmplifier;
