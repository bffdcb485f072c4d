// Two rods, with the mass matrix written as a matrix.
// count: 10 equations, 10 unknowns (phi[2], w[2], a[2], M[2,2]; 2 + 2 + 2 and four bindings)
model DoublePendulum
  import Modelica.Math.*;
  import pi = Modelica.Constants.pi;
  parameter Real m1 = 1, m2 = 0.6, l1 = 0.5, l2 = 0.4, g = 9.81;
  Real phi[2](start = {pi/3, -pi/6});
  Real w[2](each start = 0);
  Real a[2];
  Real M[2, 2] = [(m1 + m2)*l1^2, m2*l1*l2*cos(phi[1] - phi[2]);
                  m2*l1*l2*Modelica.Math.cos(phi[1] - phi[2]), m2*l2^2];
equation
  der(phi) = w;
  der(w) = a;
  M*a = {-m2*l1*l2*w[2]^2*sin(phi[1] - phi[2]) - (m1 + m2)*g*l1*sin(phi[1]),
         m2*l1*l2*w[1]^2*sin(phi[1] - phi[2]) - m2*g*l2*sin(phi[2])};
end DoublePendulum;
