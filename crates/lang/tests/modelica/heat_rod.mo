// Heat conduction along a rod in finite volumes.
// count: 21 equations, 21 unknowns (T[10] and q[11]; ten balances, nine inner fluxes, two at the ends)
model HeatRod
  parameter Integer n(min = 2) = 10 "cells";
  parameter Real length = 0.5, area = 1e-4, rho = 7800, c = 450, lambda = 50;
  parameter Real Tleft = 400, alpha = 20, Tair = 293.15;
  final parameter Real dx = length/n;
  Real T[n](each start = Tair, each unit = "K");
  Real q[n + 1](each unit = "W/m2");
equation
  q[1] = lambda*(Tleft - T[1])/(dx/2);
  for i in 2:n loop
    q[i] = lambda*(T[i - 1] - T[i])/dx;
  end for;
  q[end] = alpha*(T[end] - Tair);
  for i in 1:n loop
    rho*c*area*dx*der(T[i]) = area*(q[i] - q[i + 1]);
  end for;
end HeatRod;
