within Parts.Planar.Examples;
model SpringBall "A body on two springs in a plane"
  inner World world(gy = 0);
  Ground left(x = -1);
  Ground right(x = 1);
  Spring spring1(c = 5);
  Spring spring2(c = 5);
  Body ball(m = 2, J = 0.1, frame(x(start = 0.2, fixed = true), y(start = 0, fixed = true), phi(start = 0, fixed = true)), vx(start = 0, fixed = true), vy(start = 1, fixed = true), w(start = 0, fixed = true));
equation
  connect(left.frame, spring1.a);
  connect(spring1.b, ball.frame);
  connect(right.frame, spring2.a);
  connect(spring2.b, ball.frame);
  annotation(
    experiment(StopTime = 5),
    __daelight(draw = {{{left.x, left.y}, {ball.frame.x, ball.frame.y}, {right.x, right.y}}}));
end SpringBall;
