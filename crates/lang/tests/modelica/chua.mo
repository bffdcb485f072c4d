// Chua's circuit with its piecewise linear resistor.
// count: 4 equations, 4 unknowns (v1, v2, iL, iN)
model Chua
  parameter Real C1 = 1/9, C2 = 1, G = 0.7, L = 1/7;
  parameter Real Ga = -0.8, Gb = -0.5, E(final min = 0) = 1;
  Real v1(start = 0.1), v2(start = 0), iL(start = 0);
  Real iN "current of the diode";
equation
  C1*der(v1) = G*(v2 - v1) - iN;
  C2*der(v2) = G*(v1 - v2) + iL;
  L*der(iL) = -v2;
  iN = if noEvent(v1 < -E) then Gb*(v1 + E) - Ga*E
       elseif noEvent(v1 > E) then Gb*(v1 - E) + Ga*E
       else Ga*v1;
  annotation(experiment(StopTime = 100));
end Chua;
