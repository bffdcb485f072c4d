within Parts.Planar.Examples;
model Pendulum "A bob on a rod that turns about a pin: index 3"
  inner World world;
  Ground ground;
  Revolute pin(phi(start = 0.3, fixed = true), w(start = 0, fixed = true));
  Rod rod(rx = 0, ry = -1.2);
  Body bob(m = 2, J = 0.05);
equation
  connect(ground.frame, pin.a);
  connect(pin.b, rod.a);
  connect(rod.b, bob.frame);
  annotation(
    experiment(StopTime = 3),
    __daelight(draw = {{{ground.x, ground.y}, {bob.frame.x, bob.frame.y}}}));
end Pendulum;
