within Parts;
package Blocks "Signals: sources, sums, dynamic blocks and controllers"
  connector Input = input Real "Signal that comes from outside";
  connector Output = output Real "Signal that a block gives";

  partial block Source "A signal of time"
    Output y;
    parameter Real offset = 0 "Value before the start";
    parameter Units.Time startTime = 0 "When the signal begins";
  end Source;

  partial block Single "One signal in, one out"
    Input u;
    Output y;
  end Single;

  block Constant "The same value always"
    Output y;
    parameter Real k = 1 "Value";
  equation
    y = k;
  end Constant;

  block Step "A jump at a time"
    extends Source;
    parameter Real height = 1 "Height of the jump";
  equation
    y = offset + (if time < startTime then 0 else height);
  end Step;

  block Ramp "A value that grows steadily for a while"
    extends Source;
    parameter Real height = 1 "How much it grows";
    parameter Units.Time duration = 1 "How long it grows";
  equation
    y = offset + (if time < startTime then 0 elseif time < startTime + duration then height*(time - startTime)/duration else height);
  end Ramp;

  block Sine "A harmonic signal"
    extends Source;
    parameter Real amplitude = 1 "Amplitude";
    parameter Units.AngularVelocity w = 1 "Angular frequency";
    parameter Units.Angle phase = 0 "Angle at the start";
  equation
    y = offset + (if time < startTime then 0 else amplitude*sin(w*(time - startTime) + phase));
  end Sine;

  block Gain "A multiple"
    extends Single;
    parameter Real k = 1 "Factor";
  equation
    y = k*u;
  end Gain;

  block Add "A weighted sum of two signals"
    Input u1;
    Input u2;
    Output y;
    parameter Real k1 = 1 "Weight of the first";
    parameter Real k2 = 1 "Weight of the second";
  equation
    y = k1*u1 + k2*u2;
  end Add;

  block Difference "What is wanted minus what is measured"
    Input wanted;
    Input measured;
    Output y;
  equation
    y = wanted - measured;
  end Difference;

  block Product "The product of two signals"
    Input u1;
    Input u2;
    Output y;
  equation
    y = u1*u2;
  end Product;

  block Limiter "A signal between two bounds"
    extends Single;
    parameter Real upper = 1 "Upper bound";
    parameter Real lower = -upper "Lower bound";
  equation
    y = if u > upper then upper elseif u < lower then lower else u;
  end Limiter;

  block Integrator "The integral of a signal"
    extends Single;
    parameter Real k = 1 "Factor";
    parameter Real y0 = 0 "Value at the start";
  initial equation
    y = y0;
  equation
    der(y) = k*u;
  end Integrator;

  block Derivative "The derivative of a signal, filtered by a time constant"
    extends Single;
    parameter Real k = 1 "Factor";
    parameter Units.Time T(min = 0) = 0.01 "Time constant of the filter";
    Real x "What the filter remembers";
  initial equation
    x = u;
  equation
    T*der(x) = u - x;
    y = k*der(x);
  end Derivative;

  block Lag "A signal that follows with a time constant"
    extends Single;
    parameter Real k = 1 "Factor";
    parameter Units.Time T(min = 0) = 1 "Time constant";
    parameter Real y0 = 0 "Value at the start";
  initial equation
    y = y0;
  equation
    T*der(y) = k*u - y;
  end Lag;

  block Oscillator "A second-order system at rest: w^2/(s^2 + 2*D*w*s + w^2)"
    extends Single;
    parameter Real k = 1 "Factor";
    parameter Units.AngularVelocity w = 1 "Angular frequency without damping";
    parameter Real D = 0.5 "Damping ratio";
    Real v "Rate of change of y";
  initial equation
    y = 0;
    v = 0;
  equation
    der(y) = v;
    der(v) = w^2*(k*u - y) - 2*D*w*v;
  end Oscillator;

  block PI "A controller with proportional and integral part"
    extends Single;
    parameter Real k = 1 "Gain";
    parameter Units.Time T = 1 "Time constant of the integral part";
    Real x "Integral part";
  initial equation
    x = 0;
  equation
    T*der(x) = u;
    y = k*(u + x);
  end PI;

  block PID "A controller with proportional, integral and filtered derivative part"
    extends Single;
    parameter Real k = 1 "Gain";
    parameter Units.Time Ti = 1 "Time constant of the integral part";
    parameter Units.Time Td = 0.1 "Time constant of the derivative part";
    parameter Real N = 10 "The filter of the derivative has the time constant Td/N";
    Real x "Integral part";
    Real z "What the filter remembers";
  initial equation
    x = 0;
    z = u;
  equation
    Ti*der(x) = u;
    (Td/N)*der(z) = u - z;
    y = k*(u + x + Td*der(z));
  end PID;
end Blocks;
