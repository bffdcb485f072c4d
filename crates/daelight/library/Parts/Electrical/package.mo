within Parts;
package Electrical "Circuits of lumped parts"
  connector Pin "A place where a wire ends"
    Units.Voltage v "Potential";
    flow Units.Current i "Current into the part";
  end Pin;

  partial model OnePort "A part with two pins; what flows in on one side flows out on the other"
    Pin p "Where the current i enters";
    Pin n "Where it leaves";
    Units.Voltage v "Voltage from p to n";
    Units.Current i "Current from p to n";
  equation
    v = p.v - n.v;
    i = p.i;
    p.i + n.i = 0;
  end OnePort;

  model Ground "The place whose potential is zero"
    Pin p;
  equation
    p.v = 0;
  end Ground;

  model Resistor "Ohm's law"
    extends OnePort;
    parameter Units.Resistance R = 1 "Resistance";
  equation
    v = R*i;
  end Resistor;

  model Capacitor "Charge proportional to the voltage"
    extends OnePort;
    parameter Units.Capacitance C = 1 "Capacitance";
  equation
    C*der(v) = i;
  end Capacitor;

  model Inductor "Flux proportional to the current"
    extends OnePort;
    parameter Units.Inductance L = 1 "Inductance";
  equation
    L*der(i) = v;
  end Inductor;

  model Diode "An ideal diode: it blocks or it conducts"
    extends OnePort;
    parameter Units.Resistance Ron = 1e-5 "Resistance while it conducts";
    parameter Real Goff(unit = "S") = 1e-5 "Conductance while it blocks";
    Real s "Voltage while it blocks, current while it conducts, both in their units";
    Boolean blocks = s < 0;
  protected
    constant Units.Voltage volt = 1;
    constant Units.Current ampere = 1;
  equation
    v = volt*s*(if blocks then 1 else Ron*ampere/volt);
    i = ampere*s*(if blocks then Goff*volt/ampere else 1);
  end Diode;

  model JunctionDiode "Shockley's diode with a resistance beside it"
    extends OnePort;
    parameter Units.Current Is = 1e-12 "Saturation current";
    parameter Units.Voltage Vt = 0.026 "Thermal voltage";
    parameter Real Gp(unit = "S") = 1e-9 "Conductance beside the junction";
  equation
    i = Is*(exp(v/Vt) - 1) + Gp*v;
  end JunctionDiode;

  model ConstantVoltage "A source of constant voltage"
    extends OnePort;
    parameter Units.Voltage V = 1 "Voltage";
  equation
    v = V;
  end ConstantVoltage;

  model SineVoltage "A source of harmonic voltage"
    extends OnePort;
    parameter Units.Voltage V = 1 "Amplitude";
    parameter Units.AngularVelocity w = 1 "Angular frequency";
    parameter Units.Angle phase = 0 "Angle at the start";
  equation
    v = V*sin(w*time + phase);
  end SineVoltage;

  model SignalVoltage "A source whose voltage is a signal"
    extends OnePort;
    Blocks.Input u "Voltage";
  equation
    v = u;
  end SignalVoltage;

  model ConstantCurrent "A source of constant current"
    extends OnePort;
    parameter Units.Current I = 1 "Current from p to n through the source";
  equation
    i = I;
  end ConstantCurrent;

  model SignalCurrent "A source whose current is a signal"
    extends OnePort;
    Blocks.Input u "Current from p to n through the source";
  equation
    i = u;
  end SignalCurrent;

  model Voltmeter "Measures a voltage and takes no current"
    extends OnePort;
    Blocks.Output y "Voltage";
  equation
    i = 0;
    y = v;
  end Voltmeter;

  model Ammeter "Measures a current without a voltage"
    extends OnePort;
    Blocks.Output y "Current";
  equation
    v = 0;
    y = i;
  end Ammeter;

  model Transformer "An ideal transformer: v1 = n*v2, i2 = -n*i1"
    Pin p1;
    Pin n1;
    Pin p2;
    Pin n2;
    parameter Real n = 1 "Turns of side 1 for each of side 2";
    Units.Voltage v1 = p1.v - n1.v;
    Units.Voltage v2 = p2.v - n2.v;
  equation
    v1 = n*v2;
    p2.i = -n*p1.i;
    p1.i + n1.i = 0;
    p2.i + n2.i = 0;
  end Transformer;

  model Amplifier "An ideal operational amplifier: no voltage and no current at its input"
    Pin plus;
    Pin minus;
    Pin out;
  equation
    plus.v = minus.v;
    plus.i = 0;
    minus.i = 0;
  end Amplifier;

  model Motor "Turns current into torque and speed into voltage"
    extends OnePort;
    Rotational.Flange flange;
    parameter Units.MotorConstant k = 1 "Torque for each ampere";
    Units.AngularVelocity w "Speed";
  equation
    w = der(flange.phi);
    v = k*w;
    flange.tau = -k*i;
  end Motor;

  model HeatingResistor "A resistor that gives its heat to a port"
    extends OnePort;
    Thermal.Port port;
    parameter Units.Resistance R = 1 "Resistance";
  equation
    v = R*i;
    port.Q = -v*i;
  end HeatingResistor;
end Electrical;
