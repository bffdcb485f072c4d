// A batch reactor with consecutive reactions; rates come from functions with loops and locals.
// count: 6 equations, 6 unknowns (c[4], T, heat; four balances, energy, heat released)
package Reactors "A small library"
  function arrhenius "Rate constant"
    input Real A;
    input Real Ea = 5e4;
    input Real T;
    output Real k;
  protected
    constant Real gas = 8.314;
  algorithm
    k := A*exp(-Ea/(gas*T));
  end arrhenius;

  function rates "Rates of the chain 1 -> 2 -> ... -> n"
    input Real c[:];
    input Real T;
    output Real r[size(c, 1) - 1];
  protected
    Integer n = size(c, 1);
    Real factor;
  algorithm
    factor := 1;
    for i in 1:n - 1 loop
      factor := factor/2;
      r[i] := factor*arrhenius(A = 1e7, T = T)*c[i];
      if T < 200 then
        r[i] := 0;
      elseif T > 500 then
        r[i] := 2*r[i];
      end if;
    end for;
  end rates;

  model Empty "Not the one that is taken"
    Real x = 1;
  end Empty;

  model Batch "Four species in a jacketed vessel"
    parameter Real Tj = 320, UA = 0.4, dH[3] = {-60, -45, -20};
    Real c[4](start = {1, 0, 0, 0}, each fixed = true);
    Real T(start = 310, fixed = true);
    Real heat;
  equation
    der(c[1]) = -rates(c, T)*{1, 0, 0};
    for i in 2:3 loop
      der(c[i]) = rates(c, T)*{if j == i - 1 then 1 elseif j == i then -1 else 0 for j in 1:3};
    end for;
    der(c[4]) = rates(c, T)*{0, 0, 1};
    heat = -dH*rates(c, T);
    4.2*der(T) = heat - UA*(T - Tj);
  end Batch;
end Reactors;
