within Parts.Thermal.Examples;
model RadiantBody "A hot body radiates into the cold of space"
  Store body(C = 900, T(start = 1000, fixed = true));
  Radiation surface(k = 0.3);
  Ambient space(T = 0);
equation
  connect(body.port, surface.a);
  connect(surface.b, space.port);
  annotation(experiment(StopTime = 100));
end RadiantBody;
