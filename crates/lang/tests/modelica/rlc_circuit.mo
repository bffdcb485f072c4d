// A source, a resistor, a coil and a capacitor in one loop, written without connectors.
// count: 7 equations, 7 unknowns (i, uR, uL, uC, uS, charge, power; three laws, loop, source, two bindings)
type Voltage = Real(final unit = "V", final quantity = "ElectricPotential");
type Current = Real(final unit = "A");

model RLC "Series resonance"
  constant Real twoPi = 2*Modelica.Constants.pi;
  parameter Real R(unit = "Ohm") = 4.7, L(unit = "H") = 1e-2, C(unit = "F") = 2.2e-6;
  parameter Voltage U0 = 10 "amplitude of the source";
  final parameter Real f0(unit = "Hz") = 1/(twoPi*sqrt(L*C)) "resonance";
  Current i(start = 0, fixed = true);
  Voltage uR, uL, uC(start = 0, fixed = true), uS;
  Real charge = C*uC;
  Real power(unit = "W") = uS*i;
equation
  uR = R*i;
  uL = L*der(i);
  i = C*der(uC);
  uS = uR + uL + uC;
  uS = U0*sin(twoPi*f0*time);
end RLC;
