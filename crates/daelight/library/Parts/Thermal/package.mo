within Parts;
package Thermal "Heat in lumped bodies"
  connector Port "A place where heat enters"
    Units.Temperature T "Temperature";
    flow Units.HeatFlow Q "Heat into the part";
  end Port;

  partial model Path "A way for heat from a to b"
    Port a;
    Port b;
    Units.HeatFlow Q "Heat from a to b";
  equation
    a.Q = Q;
    b.Q = -Q;
  end Path;

  model Store "A body of one temperature"
    Port port;
    parameter Units.HeatCapacity C = 1 "Heat capacity";
    Units.Temperature T(start = 293.15) "Temperature";
  equation
    T = port.T;
    C*der(T) = port.Q;
  end Store;

  model Conductor "Heat in proportion to the difference of temperatures"
    extends Path;
    parameter Units.ThermalConductance G = 1 "Conductance";
  equation
    Q = G*(a.T - b.T);
  end Conductor;

  model Radiation "Heat by radiation between two bodies"
    extends Path;
    parameter Real k(unit = "m2") = 1 "Area that counts, emissivity included";
    constant Real sigma(unit = "W/(m2.K4)") = 5.670374419e-8 "Constant of Stefan and Boltzmann";
  equation
    Q = k*sigma*(a.T^4 - b.T^4);
  end Radiation;

  model Ambient "Surroundings of constant temperature"
    Port port;
    parameter Units.Temperature T = 293.15 "Temperature";
  equation
    port.T = T;
  end Ambient;

  model Heat "A signal as a flow of heat"
    Port port;
    Blocks.Input Q "Heat given to the port";
  equation
    port.Q = -Q;
  end Heat;

  model Thermometer "Measures a temperature"
    Port port;
    Blocks.Output T "Temperature";
  equation
    port.Q = 0;
    T = port.T;
  end Thermometer;
end Thermal;
