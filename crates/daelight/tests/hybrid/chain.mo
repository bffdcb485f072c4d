model Chain "whens that trigger each other at one instant"
  Real x(start = 0, fixed = true);
  Integer a(start = 0, fixed = true), b(start = 0, fixed = true), c(start = 0, fixed = true);
equation
  der(x) = cos(time);
  when x > 0.5 then
    a = pre(a) + 1;
  end when;
  when change(a) then
    b = pre(b) + a;
  end when;
  when b > 2*pre(c) then
    c = b + pre(c);
  end when;
end Chain;
