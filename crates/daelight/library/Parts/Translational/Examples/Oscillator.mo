within Parts.Translational.Examples;
model Oscillator "A mass between a spring and a damper"
  Fixed wall;
  Spring spring(c = 20, s0 = 0.5);
  Damper damper(d = 0.8);
  Mass mass(m = 2, s(start = 1, fixed = true), v(start = 0, fixed = true));
equation
  connect(wall.flange, spring.a);
  connect(wall.flange, damper.a);
  connect(spring.b, mass.a);
  connect(damper.b, mass.a);
  annotation(experiment(StopTime = 10));
end Oscillator;
