within Parts.Examples;
model CrankPress "A motor drives the piston of a slider-crank against a spring"
  inner Planar.World world(gy = 0);
  Electrical.ConstantVoltage battery(V = 12);
  Electrical.Resistor r(R = 0.8);
  Electrical.Motor motor(k = 0.5);
  Electrical.Ground zero;
  Rotational.Inertia rotor(J = 0.05, phi(start = 0.3, fixed = true), w(start = 10, fixed = true));
  Planar.Ground frame;
  Planar.DrivenRevolute shaft;
  Planar.Rod crank(rx = 0.1);
  Planar.Revolute bigEnd(phi(start = -0.4));
  Planar.Rod rod(rx = 0.3);
  Planar.Revolute smallEnd;
  Planar.Body piston(m = 1, J = 1e-3);
  Planar.DrivenPrismatic cylinder;
  Translational.Spring spring(c = 200, s0 = -0.3);
  Translational.Fixed wall(s0 = 0.5);
equation
  connect(battery.p, r.p);
  connect(r.n, motor.p);
  connect(motor.n, battery.n);
  connect(battery.n, zero.p);
  connect(motor.flange, rotor.a);
  connect(rotor.b, shaft.axis);
  connect(frame.frame, shaft.a);
  connect(shaft.b, crank.a);
  connect(crank.b, bigEnd.a);
  connect(bigEnd.b, rod.a);
  connect(rod.b, smallEnd.a);
  connect(smallEnd.b, piston.frame);
  connect(piston.frame, cylinder.b);
  connect(cylinder.a, frame.frame);
  connect(cylinder.axis, spring.b);
  connect(spring.a, wall.flange);
  annotation(
    experiment(StopTime = 2),
    __daelight(draw = {{{frame.x, frame.y}, {crank.b.x, crank.b.y}, {piston.frame.x, piston.frame.y}}}));
end CrankPress;
