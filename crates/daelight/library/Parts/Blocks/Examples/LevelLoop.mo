within Parts.Blocks.Examples;
model LevelLoop "A controller brings a lag to the wanted value"
  Constant wanted(k = 2);
  Difference error;
  PI controller(k = 3, T = 0.5);
  Lag plant(T = 2);
equation
  connect(wanted.y, error.wanted);
  connect(error.y, controller.u);
  connect(controller.y, plant.u);
  connect(plant.y, error.measured);
  annotation(experiment(StopTime = 8));
end LevelLoop;
