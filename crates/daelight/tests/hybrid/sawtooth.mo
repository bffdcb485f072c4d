model Sawtooth
  parameter Real T = 0.3, A = 2;
  Real y, s(start = 0, fixed = true);
  discrete Real t0(start = 0, fixed = true);
equation
  when sample(T, T) then
    t0 = time;
  end when;
  y = A*(time - t0)/T;
  der(s) = y;
end Sawtooth;
