within Parts.Planar.Examples;
model Sleigh "A body on a blade behind its centre of mass: Chaplygin's sleigh, index 3"
  inner World world(gy = 0);
  Skate skate(frame(x(start = 0, fixed = true), y(start = 0, fixed = true), phi(start = 0, fixed = true)));
  Rod bar(rx = 0.5);
  Body body(m = 1.5, J = 0.2, vx(start = 0, fixed = true), w(start = 2, fixed = true));
equation
  connect(skate.frame, bar.a);
  connect(bar.b, body.frame);
  annotation(
    experiment(StopTime = 3),
    __daelight(draw = {{{skate.frame.x, skate.frame.y}, {body.frame.x, body.frame.y}}}));
end Sleigh;
