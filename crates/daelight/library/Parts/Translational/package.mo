within Parts;
package Translational "Motion along one line"
  connector Flange "A place on a body that moves along the line"
    Units.Position s "Position";
    flow Units.Force f "Force into the part";
  end Flange;

  partial model Compliant "A part between two flanges, with a force that its deformation decides"
    Flange a;
    Flange b;
    Units.Position length "Distance from a to b";
    Units.Force f "Force that pulls a and b together";
  equation
    length = b.s - a.s;
    b.f = f;
    a.f = -f;
  end Compliant;

  model Fixed "A place that does not move"
    Flange flange;
    parameter Units.Position s0 = 0 "Position";
  equation
    flange.s = s0;
  end Fixed;

  model Mass "A body with two flanges"
    Flange a;
    Flange b;
    parameter Units.Mass m = 1 "Mass";
    parameter Units.Length L = 0 "Length from a to b";
    Units.Position s "Position of the middle";
    Units.Velocity v "Velocity";
  equation
    a.s = s - L/2;
    b.s = s + L/2;
    v = der(s);
    m*der(v) = a.f + b.f;
  end Mass;

  model Spring "Force proportional to the elongation"
    extends Compliant;
    parameter Units.Stiffness c = 1 "Stiffness";
    parameter Units.Position s0 = 0 "Length without force";
  equation
    f = c*(length - s0);
  end Spring;

  model Damper "Force proportional to the speed"
    extends Compliant;
    parameter Units.Damping d = 1 "Damping constant";
  equation
    f = d*der(length);
  end Damper;

  model Friction "Dry friction of constant size"
    extends Compliant;
    parameter Units.Force F = 1 "Force of friction";
    Units.Velocity v "Speed of b against a";
  equation
    v = der(length);
    f = F*sign(v);
  end Friction;

  model Rod "Keeps two flanges at a distance, without mass"
    Flange a;
    Flange b;
    parameter Units.Position L = 1 "Distance from a to b";
  equation
    b.s = a.s + L;
    a.f + b.f = 0;
  end Rod;

  model Force "A signal as a force"
    Flange flange;
    Blocks.Input f "Force that drives the flange";
  equation
    flange.f = -f;
  end Force;

  model Move "A signal as a position"
    Flange flange;
    Blocks.Input s "Position of the flange";
  equation
    flange.s = s;
  end Move;

  model Speed "A signal as a speed"
    Flange flange;
    Blocks.Input v "Speed of the flange";
  equation
    der(flange.s) = v;
  end Speed;

  model Position "Measures a position and a speed"
    Flange flange;
    Blocks.Output s "Position";
    Blocks.Output v "Velocity";
  equation
    flange.f = 0;
    s = flange.s;
    v = der(s);
  end Position;
end Translational;
