model RimlessWheel "A wheel of spokes that rolls down a slope"
  parameter Real g = 9.81, L = 1, alpha = 0.3, slope = 0.1;
  Real th(start = -0.15, fixed = true), w(start = 1.2, fixed = true);
  Integer steps(start = 0, fixed = true);
equation
  der(th) = w;
  der(w) = g/L*sin(th);
  when th > slope + alpha then
    reinit(th, 2*slope - pre(th));
    reinit(w, cos(2*alpha)*pre(w));
    steps = pre(steps) + 1;
  end when;
end RimlessWheel;
