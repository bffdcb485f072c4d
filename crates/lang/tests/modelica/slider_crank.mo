// A slider-crank: closed loop, attributes from parameters, min and max, atan2, a type with sizes.
// count: 6 equations, 6 unknowns (crank, rod, s, force, reach[2]; two of the loop, drive, load, two bindings)
type Point = Real[2](each unit = "m");
type Angle = Real(unit = "rad", displayUnit = "deg", min = -10, max = 10);

model SliderCrank
  parameter Real r = 0.1, l = 0.35, speed = 20, start0 = 0.3;
  Angle crank(start = start0, fixed = true);
  Angle rod(start = -asin(r*sin(start0)/l));
  Real s(start = r*cos(start0) + l, nominal = l, min = l - r, max = l + r);
  Real force;
  Point reach = {r*cos(crank), r*sin(crank)};
equation
  reach[1] + l*cos(rod) = s;
  reach[2] + l*sin(rod) = 0;
  der(crank) = speed;
  force = max(0, min(1000, 50*(s - l)))*atan2(reach[2], s - reach[1]);
end SliderCrank;
