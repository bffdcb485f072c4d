model SampledPI "A pendulum held upright by a controller that samples"
  parameter Real T = 0.01, kp = 30, ki = 5, kd = 8, g = 9.81, L = 1;
  Real phi(start = 0.1, fixed = true), w(start = 0, fixed = true);
  discrete Real u(start = 0, fixed = true), I(start = 0, fixed = true);
equation
  der(phi) = w;
  der(w) = g/L*sin(phi) + u;
algorithm
  when sample(0, T) then
    I := pre(I) + T*phi;
    u := -kp*phi - ki*I - kd*w;
  end when;
end SampledPI;
