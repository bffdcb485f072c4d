within Parts.Blocks.Examples;
model PositionLoop "Three integrals in a loop with a derivative in the controller"
  Constant wanted(k = 1);
  Difference error;
  PID controller(k = 8, Ti = 2, Td = 0.5, N = 20);
  Integrator speed;
  Integrator position;
equation
  connect(wanted.y, error.wanted);
  connect(error.y, controller.u);
  connect(controller.y, speed.u);
  connect(speed.y, position.u);
  connect(position.y, error.measured);
  annotation(experiment(StopTime = 10));
end PositionLoop;
