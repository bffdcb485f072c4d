function springTorque "Torque of the spring C-D on body 3 about B"
  input Real gamma;
  input Real sc, sd, xb, yb, xc, yc, c0, l0;
  output Real torque;
protected
  Real xd, yd, length, pull;
algorithm
  xd := sd*cos(gamma) + sc*sin(gamma) + xb;
  yd := sd*sin(gamma) - sc*cos(gamma) + yb;
  length := sqrt((xd - xc)^2 + (yd - yc)^2);
  pull := -c0*(length - l0)/length;
  torque := pull*((xd - xc)*(sc*cos(gamma) - sd*sin(gamma)) + (yd - yc)*(sd*cos(gamma) + sc*sin(gamma)));
end springTorque;

model Andrews "Andrews' squeezing mechanism: seven bodies in a plane, driven by a motor (index 3)"
  // masses in kg, inertias in kg.m2, lengths in m
  parameter Real m1 = 0.04325,  m2 = 0.00365, m3 = 0.02373,  m4 = 0.00706,  m5 = 0.0705,   m6 = 0.00706,  m7 = 0.05498;
  parameter Real i1 = 2.194e-6, i2 = 4.41e-7, i3 = 5.255e-6, i4 = 5.667e-7, i5 = 1.169e-5, i6 = 5.667e-7, i7 = 1.912e-5;
  parameter Real xa = -0.06934, ya = -0.00227 "fixed node A";
  parameter Real xb = -0.03635, yb = 0.03273  "fixed node B";
  parameter Real xc = 0.014,    yc = 0.072    "fixed node C, end of the spring";
  // the rods
  parameter Real rr = 0.007, d = 0.028, ss = 0.035, e = 0.02, zt = 0.04, zf = 0.02, u = 0.04;
  // centres of mass and the spring's end on body 3
  parameter Real ra = 0.00092, da = 0.0115, sa = 0.01874, sb = 0.01043, sc = 0.018, sd = 0.02;
  parameter Real ea = 0.01421, fa = 0.01421, ta = 0.02308, tb = 0.00916, ua = 0.01228, ub = 0.00449;
  parameter Real c0(unit = "N/m") = 4530   "stiffness of the spring";
  parameter Real l0(unit = "m") = 0.07785 "its free length";
  parameter Real mom(unit = "N.m") = 0.033 "torque of the motor";
  Real q[7](start = {-0.06171389001427645, 0, 0.45527981916307037, 0.22266839016588588,
                     0.48736497954384256, -0.22266839016588588, 1.2305474445498212},
            fixed = {false, true, false, false, false, false, false}, each unit = "rad")
    "angles beta, Theta, gamma, Phi, delta, Omega, epsilon";
  Real v[7](each start = 0, fixed = {false, true, false, false, false, false, false},
            each nominal = 1e3, each unit = "rad/s") "their velocities";
  Real w[7](start = {14222.4, -10666.8, 0, 0, 0, 0, 0}, each nominal = 1e5, each unit = "rad/s2") "their accelerations";
  Real lambda[6](start = {98.6, -6.1, 0, 0, 0, 0}, each nominal = 1e2, each unit = "N") "forces that close the loops";
equation
  der(q) = v;
  der(v) = w;

  // motion: mass matrix * w + transposed constraint Jacobian * lambda = forces
  (m1*ra^2 + m2*(rr^2 - 2*da*rr*cos(q[2]) + da^2) + i1 + i2)*w[1]
    + (m2*(da^2 - da*rr*cos(q[2])) + i2)*w[2]
    + (d*sin(q[1] + q[2]) - rr*sin(q[1]))*(lambda[1] + lambda[3] + lambda[5])
    + (rr*cos(q[1]) - d*cos(q[1] + q[2]))*(lambda[2] + lambda[4] + lambda[6])
    = mom - m2*da*rr*v[2]*(v[2] + 2*v[1])*sin(q[2]);
  (m2*(da^2 - da*rr*cos(q[2])) + i2)*w[1]
    + (m2*da^2 + i2)*w[2]
    + d*sin(q[1] + q[2])*(lambda[1] + lambda[3] + lambda[5])
    - d*cos(q[1] + q[2])*(lambda[2] + lambda[4] + lambda[6])
    = m2*da*rr*v[1]^2*sin(q[2]);
  (m3*(sa^2 + sb^2) + i3)*w[3]
    - ss*cos(q[3])*lambda[1] - ss*sin(q[3])*lambda[2]
    = springTorque(q[3], sc, sd, xb, yb, xc, yc, c0, l0);
  (m4*(e - ea)^2 + i4)*w[4]
    + (m4*((e - ea)^2 + zt*(e - ea)*sin(q[4])) + i4)*w[5]
    - e*cos(q[4] + q[5])*lambda[3] - e*sin(q[4] + q[5])*lambda[4]
    = m4*zt*(e - ea)*v[5]^2*cos(q[4]);
  (m4*((e - ea)^2 + zt*(e - ea)*sin(q[4])) + i4)*w[4]
    + (m4*(zt^2 + 2*zt*(e - ea)*sin(q[4]) + (e - ea)^2) + m5*(ta^2 + tb^2) + i4 + i5)*w[5]
    + (zt*sin(q[5]) - e*cos(q[4] + q[5]))*lambda[3]
    - (zt*cos(q[5]) + e*sin(q[4] + q[5]))*lambda[4]
    = -m4*zt*(e - ea)*v[4]*(v[4] + 2*v[5])*cos(q[4]);
  (m6*(zf - fa)^2 + i6)*w[6]
    + (m6*((zf - fa)^2 - u*(zf - fa)*sin(q[6])) + i6)*w[7]
    + zf*sin(q[6] + q[7])*lambda[5] - zf*cos(q[6] + q[7])*lambda[6]
    = -m6*u*(zf - fa)*v[7]^2*cos(q[6]);
  (m6*((zf - fa)^2 - u*(zf - fa)*sin(q[6])) + i6)*w[6]
    + (m6*((zf - fa)^2 - 2*u*(zf - fa)*sin(q[6]) + u^2) + m7*(ua^2 + ub^2) + i6 + i7)*w[7]
    + (zf*sin(q[6] + q[7]) - u*cos(q[7]))*lambda[5]
    - (zf*cos(q[6] + q[7]) + u*sin(q[7]))*lambda[6]
    = m6*u*(zf - fa)*v[6]*(v[6] + 2*v[7])*cos(q[6]);

  // the three loops are closed
  rr*cos(q[1]) - d*cos(q[1] + q[2]) - ss*sin(q[3]) = xb;
  rr*sin(q[1]) - d*sin(q[1] + q[2]) + ss*cos(q[3]) = yb;
  rr*cos(q[1]) - d*cos(q[1] + q[2]) - e*sin(q[4] + q[5]) - zt*cos(q[5]) = xa;
  rr*sin(q[1]) - d*sin(q[1] + q[2]) + e*cos(q[4] + q[5]) - zt*sin(q[5]) = ya;
  rr*cos(q[1]) - d*cos(q[1] + q[2]) - zf*cos(q[6] + q[7]) - u*sin(q[7]) = xa;
  rr*sin(q[1]) - d*sin(q[1] + q[2]) - zf*sin(q[6] + q[7]) + u*cos(q[7]) = ya;
  annotation(
    experiment(StartTime = 0, StopTime = 0.03, Tolerance = 1e-8),
    __daelight(draw = {
      {{0, 0},
       {rr*cos(q[1]), rr*sin(q[1])},
       {rr*cos(q[1]) - d*cos(q[1] + q[2]), rr*sin(q[1]) - d*sin(q[1] + q[2])}},
      {{xb, yb},
       {xb + ss*sin(q[3]), yb - ss*cos(q[3])},
       {xb + sd*cos(q[3]) + sc*sin(q[3]), yb + sd*sin(q[3]) - sc*cos(q[3])},
       {xb, yb}},
      {{xa, ya},
       {xa + zt*cos(q[5]), ya + zt*sin(q[5])},
       {xa + zt*cos(q[5]) + e*sin(q[4] + q[5]), ya + zt*sin(q[5]) - e*cos(q[4] + q[5])}},
      {{xa, ya},
       {xa + u*sin(q[7]), ya - u*cos(q[7])},
       {xa + u*sin(q[7]) + zf*cos(q[6] + q[7]), ya - u*cos(q[7]) + zf*sin(q[6] + q[7])}},
      {{xc, yc},
       {xb + sd*cos(q[3]) + sc*sin(q[3]), yb + sd*sin(q[3]) - sc*cos(q[3])}}}));
end Andrews;
