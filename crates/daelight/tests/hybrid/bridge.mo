model Bridge "Four diodes as in libraries of components, a load and a capacitor"
  parameter Real U = 10, f = 50, Rs = 1, C = 1e-3, R = 100, Ron = 1e-5, Goff = 1e-5;
  Real vs, is, va, vb, vo(start = 0, fixed = true);
  Real i1, i2, i3, i4, u1, u2, u3, u4, s1, s2, s3, s4;
  Boolean on1(start = false), on2(start = false), on3(start = false), on4(start = false);
equation
  vs = U*sin(2*3.14159265358979323846*f*time);
  va - vb = vs - Rs*is;
  // diode 1 from a to plus, 2 from minus to a, 3 from b to plus, 4 from minus to b
  u1 = va - vo; u2 = -va; u3 = vb - vo; u4 = -vb;
  is = i1 - i2;
  -is = i3 - i4;
  C*der(vo) = i1 + i3 - vo/R;
  on1 = s1 > 0; on2 = s2 > 0; on3 = s3 > 0; on4 = s4 > 0;
  u1 = s1*(if on1 then Ron else 1); i1 = s1*(if on1 then 1 else Goff);
  u2 = s2*(if on2 then Ron else 1); i2 = s2*(if on2 then 1 else Goff);
  u3 = s3*(if on3 then Ron else 1); i3 = s3*(if on3 then 1 else Goff);
  u4 = s4*(if on4 then Ron else 1); i4 = s4*(if on4 then 1 else Goff);
end Bridge;
