model Ball "With a flying state, as in the language's own book"
  parameter Real e = 0.7, g = 9.81;
  Real h(start = 1, fixed = true), v(start = 0, fixed = true);
  Boolean flying(start = true, fixed = true), impact;
  Real v_new(start = 0, fixed = true);
  Integer bounces(start = 0, fixed = true);
equation
  impact = h <= 0;
  der(v) = if flying then -g else 0;
  der(h) = v;
  when {h <= 0 and v <= 0, impact} then
    v_new = if edge(impact) then -e*pre(v) else 0;
    flying = v_new > 0;
    reinit(v, v_new);
    bounces = pre(bounces) + 1;
  end when;
end Ball;
