within Parts;
package Planar "Rigid bodies and joints in a plane, with a gravity field from `World`"
  connector Frame "A place on a body, with its direction"
    Units.Position x "Position to the right";
    Units.Position y "Position upwards";
    Units.Angle phi "Angle of the frame, counterclockwise";
    flow Units.Force fx "Force into the part, to the right";
    flow Units.Force fy "Force into the part, upwards";
    flow Units.Torque t "Torque into the part";
  end Frame;

  model World "Gravity, the same for all bodies of a model"
    parameter Units.Acceleration gx = 0 "Gravity to the right";
    parameter Units.Acceleration gy = -9.81 "Gravity upwards";
  end World;

  partial model Joint "Two frames at one place or on one line; none of its forces does work of itself"
    Frame a;
    Frame b;
    Units.Angle phi "Angle from a to b";
  equation
    phi = b.phi - a.phi;
    a.fx + b.fx = 0;
    a.fy + b.fy = 0;
    a.t + b.t + (b.x - a.x)*b.fy - (b.y - a.y)*b.fx = 0;
  end Joint;

  model Ground "A frame that does not move"
    Frame frame;
    parameter Units.Position x = 0 "Position to the right";
    parameter Units.Position y = 0 "Position upwards";
    parameter Units.Angle phi = 0 "Angle";
  equation
    frame.x = x;
    frame.y = y;
    frame.phi = phi;
  end Ground;

  model Body "A rigid body; its frame is in the centre of mass"
    Frame frame;
    outer World world;
    parameter Units.Mass m = 1 "Mass";
    parameter Units.Inertia J = 0 "Moment of inertia about the centre of mass";
    Units.Velocity vx "Velocity to the right";
    Units.Velocity vy "Velocity upwards";
    Units.AngularVelocity w "Angular velocity";
  equation
    vx = der(frame.x);
    vy = der(frame.y);
    w = der(frame.phi);
    m*der(vx) = frame.fx + m*world.gx;
    m*der(vy) = frame.fy + m*world.gy;
    J*der(w) = frame.t;
  end Body;

  model Rod "Joins two frames of one body, without mass"
    Frame a;
    Frame b;
    parameter Units.Position rx = 1 "Where b is, seen from a: along the frame";
    parameter Units.Position ry = 0 "Where b is, seen from a: across the frame";
    Units.Position dx "From a to b, to the right";
    Units.Position dy "From a to b, upwards";
  equation
    dx = rx*cos(a.phi) - ry*sin(a.phi);
    dy = rx*sin(a.phi) + ry*cos(a.phi);
    b.x = a.x + dx;
    b.y = a.y + dy;
    b.phi = a.phi;
    a.fx + b.fx = 0;
    a.fy + b.fy = 0;
    a.t + b.t + dx*b.fy - dy*b.fx = 0;
  end Rod;

  model Revolute "A pin: the frames meet in a point and turn freely"
    extends Joint;
    Units.AngularVelocity w "Speed of b against a";
  equation
    w = der(phi);
    b.x = a.x;
    b.y = a.y;
    b.t = 0;
  end Revolute;

  model DrivenRevolute "A pin that a shaft turns"
    extends Joint;
    Rotational.Flange axis "Turns b against a";
  equation
    axis.phi = phi;
    b.x = a.x;
    b.y = a.y;
    b.t + axis.tau = 0;
  end DrivenRevolute;

  model Prismatic "A slide: b moves along a line of the frame a"
    extends Joint;
    parameter Units.Angle alpha = 0 "Direction of the line, seen from a";
    Units.Position s "Position of b along the line";
  equation
    phi = 0;
    b.x = a.x + s*cos(a.phi + alpha);
    b.y = a.y + s*sin(a.phi + alpha);
    b.fx*cos(a.phi + alpha) + b.fy*sin(a.phi + alpha) = 0;
  end Prismatic;

  model DrivenPrismatic "A slide that a flange moves"
    extends Joint;
    Translational.Flange axis "Moves b along the line";
    parameter Units.Angle alpha = 0 "Direction of the line, seen from a";
  equation
    phi = 0;
    b.x = a.x + axis.s*cos(a.phi + alpha);
    b.y = a.y + axis.s*sin(a.phi + alpha);
    b.fx*cos(a.phi + alpha) + b.fy*sin(a.phi + alpha) + axis.f = 0;
  end DrivenPrismatic;

  model Skate "A blade: its frame moves along its own direction and turns freely"
    Frame frame;
    Units.Force f "Force across the blade";
  equation
    der(frame.y)*cos(frame.phi) - der(frame.x)*sin(frame.phi) = 0;
    frame.fx = -f*sin(frame.phi);
    frame.fy = f*cos(frame.phi);
    frame.t = 0;
  end Skate;

  model Spring "A spring between the origins of two frames"
    Frame a;
    Frame b;
    parameter Units.Stiffness c = 1 "Stiffness";
    parameter Units.Length s0 = 0 "Length without force";
    Units.Length s(start = 1) "Length";
    Units.Force f "Force that pulls the frames together";
  equation
    s = sqrt((b.x - a.x)^2 + (b.y - a.y)^2);
    f = c*(s - s0);
    b.fx = f*(b.x - a.x)/s;
    b.fy = f*(b.y - a.y)/s;
    b.t = 0;
    a.fx + b.fx = 0;
    a.fy + b.fy = 0;
    a.t = 0;
  end Spring;
end Planar;
