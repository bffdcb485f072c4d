// A satellite turned by thrusters: Euler's equations and a unit quaternion.
// count: 12 equations, 12 unknowns (w[3], p[4], Lbody[3], energy, norm; 3 + 4 + 3 + 1 + 1)
model RigidBody
  import Modelica.Units.SI;
  import Modelica.Constants.pi;
  parameter SI.Inertia J[3, 3] = {{3, 0.1, 0}, {0.1, 2, -0.2}, {0, -0.2, 1.5}};
  parameter Real period = 2*pi;
  SI.AngularVelocity w[3](start = {0.2, 1.0, 0.1});
  Real p[4](start = {0, 0, 0, 1}) "quaternion, scalar part last";
  Real Lbody[3] = J*w "angular momentum";
  Real energy = 0.5*w*J*w, norm = sqrt(p*p);
  input Real tau[3] = {0.1*sin(2*pi*time/period), 0, -0.05};
equation
  J*der(w) + cross(w, J*w) = tau;
  der(p) = 0.5*[0, w[3], -w[2], w[1];
                -w[3], 0, w[1], w[2];
                w[2], -w[1], 0, w[3];
                -w[1], -w[2], -w[3], 0]*p;
end RigidBody;
