within Parts.Examples;
model Boiler "A resistor heats a body that loses heat to the room"
  Electrical.ConstantVoltage mains(V = 230);
  Electrical.HeatingResistor heater(R = 26.45);
  Electrical.Ground ground;
  Thermal.Store water(C = 4000, T(start = 293.15, fixed = true));
  Thermal.Conductor insulation(G = 20);
  Thermal.Ambient room;
equation
  connect(mains.p, heater.p);
  connect(heater.n, mains.n);
  connect(mains.n, ground.p);
  connect(heater.port, water.port);
  connect(water.port, insulation.a);
  connect(insulation.b, room.port);
  annotation(experiment(StopTime = 600));
end Boiler;
