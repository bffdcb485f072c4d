model Loop "An event that never settles"
  Real x(start = 0, fixed = true);
  Boolean a(start = false, fixed = true), b(start = false, fixed = true);
equation
  der(x) = 1;
  a = x > 1 and not pre(b);
  b = x > 1 and pre(a);
  when x > 2 then
    reinit(x, 0);
  end when;
end Loop;
