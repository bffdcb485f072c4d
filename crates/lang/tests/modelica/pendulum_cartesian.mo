// A point mass on a rigid rod in Cartesian coordinates: index 3.
// count: 5 equations, 5 unknowns (x, y, vx, vy, T; two kinematic equations, two of Newton, one constraint)
within ;
model PendulumCartesian "Mass on a massless rod"
  import SI = Modelica.Units.SI;
  import Modelica.Constants.g_n;
  parameter SI.Mass m = 1.2 "mass of the bob";
  parameter SI.Length L(min = 0.01, displayUnit = "mm") = 0.8 "length of the rod";
  SI.Position x(start = 0.8, fixed = true), y(start = 0);
  SI.Velocity vx, vy(start = 0, fixed = true);
  Real T(unit = "N/m", nominal = 10) "tension divided by the length";
equation
  der(x) = vx;
  der(y) = vy;
  m*der(vx) = -T*x "Newton, horizontal";
  m*der(vy) = -T*y - m*g_n "Newton, vertical";
  x^2 + y^2 = L^2;
  annotation(experiment(StartTime = 0, StopTime = 5, Tolerance = 1e-8, Interval = 0.01),
    Icon(coordinateSystem(extent = {{-100, -100}, {100, 100}}),
      graphics = {Line(points = {{0, 80}, {40, -20}}, color = {0, 0, 255}),
                  Ellipse(extent = {{30, -30}, {50, -10}}, fillPattern = FillPattern.Solid)}));
end PendulumCartesian;
