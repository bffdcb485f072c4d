within Parts.Rotational.Examples;
model TorqueForPath "The torque that turns an inertia along a path: index 3"
  Blocks.Sine path(amplitude = 0.4, w = 3);
  Turn drive;
  Inertia load(J = 2);
  Damper bearing(d = 0.5);
  Fixed housing;
equation
  connect(path.y, drive.phi);
  connect(drive.flange, load.a);
  connect(load.b, bearing.a);
  connect(bearing.b, housing.flange);
  annotation(experiment(StopTime = 4));
end TorqueForPath;
