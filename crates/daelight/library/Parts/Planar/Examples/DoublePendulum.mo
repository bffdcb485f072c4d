within Parts.Planar.Examples;
model DoublePendulum "Two bars, each hung on a pin: index 3"
  inner World world;
  Ground ground;
  Revolute pin1(phi(start = 1, fixed = true), w(start = 0, fixed = true));
  Rod upper(rx = 0.5);
  Body bar1(m = 1, J = 0.1);
  Rod lower(rx = 0.5);
  Revolute pin2(phi(start = 0.5, fixed = true), w(start = 0, fixed = true));
  Rod arm(rx = 0.6);
  Body bar2(m = 0.8, J = 0.06);
equation
  connect(ground.frame, pin1.a);
  connect(pin1.b, upper.a);
  connect(upper.b, bar1.frame);
  connect(bar1.frame, lower.a);
  connect(lower.b, pin2.a);
  connect(pin2.b, arm.a);
  connect(arm.b, bar2.frame);
  annotation(
    experiment(StopTime = 1),
    __daelight(draw = {{{ground.x, ground.y}, {lower.b.x, lower.b.y}, {bar2.frame.x, bar2.frame.y}}}));
end DoublePendulum;
