//! base 0.1.0
// A filter as a flattening tool writes it: everything quoted, subscripts inside the names.
// count: 5 equations, 5 unknowns ('C.v[1]', 'C.v[2]', 'R.i', two elements of 'filter.y')
package 'Filter'
  type 'Voltage' = Real(quantity = "ElectricPotential", unit = "V");

  function 'Filter.gain'
    input Real[:] 'u';
    input Real 'k';
    output Real 'y';
    constant Real[2] 'weights' = {1.0, 0.5};
  algorithm
    'y' := 'k' * ('u' * 'weights');
  end 'Filter.gain';

  model 'Filter' "Two stages"
    parameter Real 'R.R'(start = 1.0, unit = "Ohm", quantity = "Resistance") = 1000.0 "resistance";
    parameter Real 'C.C'(unit = "F") = 1e-6;
    final parameter 'Voltage' 'source.V' = 5.0;
    'Voltage' 'C.v[1]'(fixed = true, start = 0.0);
    'Voltage' 'C.v[2]'(fixed = true, start = 0.0);
    Real 'R.i'(unit = "A") annotation(HideResult = true);
    Real[2] 'filter.y'(each start = 0.0);
  initial equation
    'filter.y'[2] = 0.0;
  equation
    'R.R' * 'R.i' = 'source.V' - 'C.v[1]';
    'C.C' * der('C.v[1]') = 'R.i' - ('C.v[1]' - 'C.v[2]') / 'R.R';
    'C.C' * der('C.v[2]') = ('C.v[1]' - 'C.v[2]') / 'R.R' "second stage";
    'filter.y'[1] = 'Filter.gain'({'C.v[1]', 'C.v[2]'}, 2.0);
    der('filter.y'[2]) = 'filter.y'[1] - 'filter.y'[2];
    annotation(experiment(StopTime = 0.01));
  end 'Filter';
end 'Filter';
