model FlexibleChainForward "The planar chain of flexible-chain, driven by its motors"
  parameter Integer N(min = 2) = 2 "links, each with a motor behind an elastic gear";
  parameter Integer E[N](each min = 0) = fill(4, N) "elastic joints that split each link";
  final parameter Integer B = N + sum(E) "bodies";
  final parameter Integer first[N] = {i + sum(E[1:i - 1]) for i in 1:N} "the first body of each link";
  final parameter Integer link[B] = {sum(if first[i] <= b then 1 else 0 for i in 1:N) for b in 1:B} "to which each body belongs";
  // each body: mass, length, centre of mass, inertia about it
  parameter Real m[B](each unit = "kg") = {100/(E[link[b]] + 1) for b in 1:B}                "masses";
  parameter Real l[B](each unit = "m") = {1/(E[link[b]] + 1) for b in 1:B}                   "lengths";
  parameter Real xi[B](each unit = "m") = {0.2*l[b] for b in 1:B}        "centres of mass";
  parameter Real j[B](each unit = "kg.m2") = {m[b]*l[b]*sum(l)/N*(1 + 9*(b - first[link[b]])/(E[link[b]] + 1)) for b in 1:B}
    "inertias about the centres of mass, rising towards the end of each link: for stable zero dynamics";
  parameter Real kg[N](each unit = "N.m/rad") = fill(1e5, N)             "stiffnesses of the gears";
  parameter Real dg[N](each unit = "N.m.s/rad") = fill(200, N)           "dampings of the gears";
  parameter Real ke(unit = "N.m/rad") = 2e5*(max(E) + 1)                  "stiffness of the elastic joints";
  parameter Real de(unit = "N.m.s/rad") = 100*(max(E) + 1)                "damping of the elastic joints";
  parameter Real Jm[N](each unit = "kg.m2") = fill(100, N)               "inertias of the motors";
  parameter Real g(unit = "m/s2") = 0                                    "gravity, downwards";
  // the kinetic energy is 0.5*sum(C[a, b]*cos(phi[a] - phi[b])*der(phi[a])*der(phi[b]))
  final parameter Real C[B, B] = {{
    sum(m[c]*(if a < c then l[a] else xi[c])*(if b < c then l[b] else xi[c]) for c in max(a, b):B)
    + (if a == b then j[a] else 0) for b in 1:B} for a in 1:B};
  final parameter Real weight[B] = {m[b]*xi[b] + l[b]*sum(m[c] for c in b + 1:B) for b in 1:B};
  parameter Real start[N](each unit = "rad") = {1.2*i - 0.9 for i in 1:N} "angles of the links at the start, from the horizontal";
  input Real u[N](each unit = "N.m") = zeros(N) "torques of the motors";
  Real phi[B](start = {start[link[b]] for b in 1:B}, each fixed = true, each unit = "rad") "angles of the bodies from the horizontal";
  Real qm[N](start = {if i == 1 then start[1] else start[i] - start[i - 1] for i in 1:N}, each fixed = true, each unit = "rad") "motors, relative to the link before";
initial equation
  // at rest
  der(phi) = zeros(B);
  der(qm) = zeros(N);
equation
  lagrange(
    // kinetic energy: bodies, motors
    0.5*sum(sum(C[a, b]*cos(phi[a] - phi[b])*der(phi[a])*der(phi[b]) for b in 1:B) for a in 1:B)
    + 0.5*sum(Jm[i]*der(qm[i])^2 for i in 1:N),
    // potential energy: gears and elastic joints, gravity
    0.5*sum((if first[link[b]] == b
             then kg[link[b]]*(phi[b] - (if b == 1 then 0 else phi[max(b - 1, 1)]) - qm[link[b]])^2
             else ke*(phi[b] - phi[max(b - 1, 1)])^2) for b in 1:B)
    + g*sum(weight[b]*sin(phi[b]) for b in 1:B),
    cat(1, phi, qm),
    zeros(0), zeros(0),
    // forces: the damper of the own joint less that of the next one; the motors
    cat(1,
      {(if first[link[b]] == b
        then -dg[link[b]]*(der(phi[b]) - (if b == 1 then 0 else der(phi[max(b - 1, 1)])) - der(qm[link[b]]))
        else -de*(der(phi[b]) - der(phi[max(b - 1, 1)])))
       + (if b == B then 0
          elseif first[link[min(b + 1, B)]] == b + 1
          then dg[link[min(b + 1, B)]]*(der(phi[min(b + 1, B)]) - der(phi[b]) - der(qm[link[min(b + 1, B)]]))
          else de*(der(phi[min(b + 1, B)]) - der(phi[b]))) for b in 1:B},
      {u[i] + dg[i]*(der(phi[first[i]]) - (if i == 1 then 0 else der(phi[max(first[i] - 1, 1)])) - der(qm[i]))
       for i in 1:N}));
  annotation(
    experiment(StartTime = 0, StopTime = 1, Tolerance = 1e-8),
    __daelight(draw = {{{sum(l[c]*cos(phi[c]) for c in 1:b), sum(l[c]*sin(phi[c]) for c in 1:b)} for b in 0:B}}));
end FlexibleChainForward;
