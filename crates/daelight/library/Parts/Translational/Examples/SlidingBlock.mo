within Parts.Translational.Examples;
model SlidingBlock "A block slides until dry friction holds it"
  Fixed floor;
  Friction friction(F = 3);
  Mass crate(m = 1.5, s(start = 0, fixed = true), v(start = 4, fixed = true));
equation
  connect(floor.flange, friction.a);
  connect(friction.b, crate.a);
  annotation(experiment(StopTime = 3));
end SlidingBlock;
