within Parts.Planar.Examples;
model FourBar "A crank turns the coupler and the rocker of a closed loop"
  inner World world;
  Ground left;
  Ground right(x = 4);
  Blocks.Ramp angle(offset = 1, height = 6, duration = 6);
  Rotational.Turn motor;
  DrivenRevolute crankPin;
  Rod crank(rx = 1);
  Body mass(m = 2, J = 0.1);
  Revolute b;
  Rod coupler(rx = 3.5, a(phi(start = 0.64)));
  Revolute c;
  Rod rocker(rx = 3, a(phi(start = 1.79)));
  Revolute d;
equation
  connect(angle.y, motor.phi);
  connect(motor.flange, crankPin.axis);
  connect(left.frame, crankPin.a);
  connect(crankPin.b, crank.a);
  connect(crank.b, b.a);
  connect(b.b, coupler.a);
  connect(coupler.b, c.a);
  connect(c.b, rocker.b);
  connect(rocker.a, d.b);
  connect(d.a, right.frame);
  connect(rocker.b, mass.frame);
  annotation(
    experiment(StopTime = 6),
    __daelight(draw = {{{left.x, left.y}, {crank.b.x, crank.b.y}, {coupler.b.x, coupler.b.y}, {right.x, right.y}}}));
end FourBar;
