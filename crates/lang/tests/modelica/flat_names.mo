// A falling body as a flattening tool lists it: dotted names, one line for each element.
// count: 11 equations, 11 unknowns (r_0[3], v_0[3], a_0[3], motor[1].flange.phi, motor[1].w; 3 + 3 + 3 + 2)
class Falling.Body
  constant Real world.g(quantity = "Acceleration", unit = "m/s2") = 9.81;
  final parameter Real body.m(quantity = "Mass", unit = "kg", min = 0.0) = 2.0;
  parameter Real body.d[1] = 0.1;
  parameter Real body.d[2] = 0.2;
  parameter Real motor[1].J = 0.5;
  Real body.frame_a.r_0[1](quantity = "Length", unit = "m", start = 0.0, stateSelect = StateSelect.prefer);
  Real body.frame_a.r_0[2](quantity = "Length", unit = "m", start = 10.0, stateSelect = StateSelect.prefer);
  Real body.frame_a.r_0[3](quantity = "Length", unit = "m", start = 0.0, stateSelect = StateSelect.prefer);
  Real body.v_0[1](quantity = "Velocity", unit = "m/s", start = 1.0);
  Real body.v_0[2](quantity = "Velocity", unit = "m/s", start = 0.0);
  Real body.v_0[3](quantity = "Velocity", unit = "m/s", start = 0.0);
  protected Real body.a_0[1](unit = "m/s2");
  protected Real body.a_0[2](unit = "m/s2");
  protected Real body.a_0[3](unit = "m/s2");
  Real motor[1].flange.phi(unit = "rad", displayUnit = "deg");
  Real motor[1].w(unit = "rad/s", start = 1.0);
equation
  body.v_0[1] = der(body.frame_a.r_0[1]);
  body.v_0[2] = der(body.frame_a.r_0[2]);
  body.v_0[3] = der(body.frame_a.r_0[3]);
  body.a_0[1] = der(body.v_0[1]);
  body.a_0[2] = der(body.v_0[2]);
  body.a_0[3] = der(body.v_0[3]);
  body.m * body.a_0[1] = -body.d[1] * body.v_0[1];
  body.m * body.a_0[2] = -body.m * world.g - body.d[2] * body.v_0[2];
  body.m * body.a_0[3] = 0.0;
  der(motor[1].flange.phi) = motor[1].w;
  motor[1].J * der(motor[1].w) = -motor[1].w;
end Falling.Body;
