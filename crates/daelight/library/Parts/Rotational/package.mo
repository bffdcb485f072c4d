within Parts;
package Rotational "Shafts that turn about one axis"
  connector Flange "The end of a shaft"
    Units.Angle phi "Angle";
    flow Units.Torque tau "Torque into the part";
  end Flange;

  partial model Compliant "A part between two flanges, with a torque that its deformation decides"
    Flange a;
    Flange b;
    Units.Angle angle "Angle from a to b";
    Units.Torque tau "Torque that turns a and b towards each other";
  equation
    angle = b.phi - a.phi;
    b.tau = tau;
    a.tau = -tau;
  end Compliant;

  model Fixed "A shaft that does not turn"
    Flange flange;
    parameter Units.Angle phi0 = 0 "Angle";
  equation
    flange.phi = phi0;
  end Fixed;

  model Inertia "A body that turns, with two flanges"
    Flange a;
    Flange b;
    parameter Units.Inertia J = 1 "Moment of inertia";
    Units.Angle phi "Angle";
    Units.AngularVelocity w "Speed";
  equation
    a.phi = phi;
    b.phi = phi;
    w = der(phi);
    J*der(w) = a.tau + b.tau;
  end Inertia;

  model Spring "Torque proportional to the twist"
    extends Compliant;
    parameter Units.TorsionStiffness c = 1 "Stiffness";
    parameter Units.Angle phi0 = 0 "Twist without torque";
  equation
    tau = c*(angle - phi0);
  end Spring;

  model Damper "Torque proportional to the speed"
    extends Compliant;
    parameter Units.TorsionDamping d = 1 "Damping constant";
  equation
    tau = d*der(angle);
  end Damper;

  model Friction "Dry friction of constant size"
    extends Compliant;
    parameter Units.Torque T = 1 "Torque of friction";
    Units.AngularVelocity w "Speed of b against a";
  equation
    w = der(angle);
    tau = T*sign(w);
  end Friction;

  model Gear "An ideal gear: a turns n times as fast as b"
    Flange a;
    Flange b;
    parameter Real n = 1 "Ratio";
  equation
    a.phi = n*b.phi;
    b.tau = -n*a.tau;
  end Gear;

  model Rack "A wheel that rolls on a rack: angle into length"
    Flange shaft;
    Translational.Flange rack;
    parameter Units.Length r(unit = "m/rad") = 1 "Radius of the wheel: length for each radian";
  equation
    rack.s = r*shaft.phi;
    shaft.tau = -r*rack.f;
  end Rack;

  model Torque "A signal as a torque"
    Flange flange;
    Blocks.Input tau "Torque that drives the flange";
  equation
    flange.tau = -tau;
  end Torque;

  model Turn "A signal as an angle"
    Flange flange;
    Blocks.Input phi "Angle of the flange";
  equation
    flange.phi = phi;
  end Turn;

  model Speed "A signal as a speed"
    Flange flange;
    Blocks.Input w "Speed of the flange";
  equation
    der(flange.phi) = w;
  end Speed;

  model Tachometer "Measures an angle and a speed"
    Flange flange;
    Blocks.Output phi "Angle";
    Blocks.Output w "Speed";
  equation
    flange.tau = 0;
    phi = flange.phi;
    w = der(phi);
  end Tachometer;
end Rotational;
