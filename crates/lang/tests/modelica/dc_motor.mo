// A motor behind a gear, as a block with an input.
// count: 6 equations, 6 unknowns (w, phi, i, tau, emf, u_R; the input u is none)
block DCMotor "Permanent magnet motor"
  input Real u(unit = "V") = 12*(1 - exp(-time/0.05)) "terminal voltage";
  output Real w(unit = "rad/s", displayUnit = "rev/min", start = 0);
  output Real phi(unit = "rad", displayUnit = "deg", start = 0);
  parameter Real R = 0.6, L = 1.2e-3, k = 0.035, J = 3e-5;
  parameter Boolean friction = true "whether the bearings rub";
  parameter Real d = if friction then 1e-5 else 0;
protected
  Real i(start = 0), tau, emf, u_R;
equation
  u = u_R + L*der(i) + emf;
  u_R = R*i;
  emf = k*w;
  tau = k*i;
  J*der(w) = tau - d*w - (if friction then 2e-3*tanh(w/0.1) else 0);
  der(phi) = w;
end DCMotor;
