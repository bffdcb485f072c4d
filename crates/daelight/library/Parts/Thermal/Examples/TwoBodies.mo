within Parts.Thermal.Examples;
model TwoBodies "Two bodies share their heat"
  Store hot(C = 400, T(start = 373.15, fixed = true));
  Store cold(C = 1200, T(start = 273.15, fixed = true));
  Conductor contact(G = 15);
equation
  connect(hot.port, contact.a);
  connect(contact.b, cold.port);
  annotation(experiment(StopTime = 60));
end TwoBodies;
