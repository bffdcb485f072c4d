within Parts.Planar.Examples;
model SliderCrank "A crank moves a piston: index 3"
  inner World world(gy = 0);
  Ground ground;
  Revolute shaft(phi(start = 0.5, fixed = true), w(start = 8, fixed = true));
  Rod crank(rx = 0.1);
  Body flywheel(m = 5, J = 0.2);
  Revolute bigEnd(phi(start = -0.7));
  Rod rod(rx = 0.3);
  Revolute smallEnd;
  Body piston(m = 0.6, J = 1e-3);
  Prismatic cylinder(s(start = 0.38));
equation
  connect(ground.frame, shaft.a);
  connect(shaft.b, flywheel.frame);
  connect(shaft.b, crank.a);
  connect(crank.b, bigEnd.a);
  connect(bigEnd.b, rod.a);
  connect(rod.b, smallEnd.a);
  connect(smallEnd.b, piston.frame);
  connect(piston.frame, cylinder.b);
  connect(cylinder.a, ground.frame);
  annotation(
    experiment(StopTime = 2),
    __daelight(draw = {{{ground.x, ground.y}, {crank.b.x, crank.b.y}, {piston.frame.x, piston.frame.y}}}));
end SliderCrank;
