model TwoTanks "Two tanks, a valve between them that opens and closes by levels"
  parameter Real A1 = 1, A2 = 0.5, qin = 0.3, k = 0.5, kout = 0.2;
  Real h1(start = 0, fixed = true), h2(start = 0, fixed = true), q12, qout;
  Boolean open(start = false, fixed = true);
equation
  A1*der(h1) = qin - q12;
  A2*der(h2) = q12 - qout;
  q12 = if open then k*h1 else 0;
  qout = kout*h2;
algorithm
  when h1 > 1 then
    open := true;
  end when;
  when h1 < 0.65 then
    open := false;
  end when;
end TwoTanks;
