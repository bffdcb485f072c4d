/* The relaxation oscillator of van der Pol,
   with a state chosen by hand and start values given by equations. */
// count: 2 equations, 2 unknowns (x, y)
model VanDerPol
  parameter Real mu = 5 "stiffness of the damping" annotation(Evaluate = false);
  output Real x(stateSelect = StateSelect.prefer);
  output Real y(stateSelect = StateSelect.default);
initial equation
  x = 2;
  der(y) = 0;
equation
  der(x) = y;
  der(y) = mu*(1 - x^2)*y - x;
  annotation(experiment(StopTime = 20), Documentation(info = "<html><p>After <b>B. van der Pol</b>, 1926.</p></html>"));
end VanDerPol;
