// Two shafts coupled by a spring, with three mistakes: a missing semicolon, a wrong size, a misspelt name.
model Shafts
  parameter Real stiffness = 40;
  parameter Real damping = 0.1
  parameter Real inertia[2] = {1, 2, 3};
  Real phi[2](start = {0.1, 0}), w[2];
equation
  der(phi) = w;
  2*der(w[1]) = -stiffness*(phi[1] - phi[2]);
  3*der(w[2]) = stiffness*(phi[1] - phi[2]) - dampng*w[2];
end Shafts;
