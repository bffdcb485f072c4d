model Cstr "Isothermal stirred tank with the reactions A <=> B -> C (index 2)"
  parameter Real Fa = 1.0  "feed rate";
  parameter Real F = 0.8   "withdrawal rate";
  parameter Real CA0 = 2.0 "concentration of A in the feed";
  parameter Real k2 = 0.7  "rate constant of B -> C";
  parameter Real Keq = 1.5 "equilibrium constant of A <=> B";
  Real V(start = 1.0, fixed = true)  "volume";
  Real CA(start = 0.4, fixed = true) "concentration of A";
  Real CB(start = 0.6)               "concentration of B";
  Real CC(start = 0.1, fixed = true) "concentration of C";
  Real R1(start = 1.4)               "rate of A <=> B, fixed by the equilibrium";
  Real R2(start = 0.4)               "rate of B -> C";
equation
  der(V)  = Fa - F;
  der(CA) = Fa/V*(CA0 - CA) - R1;
  der(CB) = -Fa/V*CB + R1 - R2;
  der(CC) = -Fa/V*CC + R2;
  0 = CA - CB/Keq;
  0 = R2 - k2*CB;
  annotation(experiment(StartTime = 0, StopTime = 2, Tolerance = 1e-8));
end Cstr;
