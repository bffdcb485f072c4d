// Diffusion on a plate: a matrix of unknowns, nested loops, slices and comprehensions.
// count: 21 equations, 21 unknowns (T[5,4] and the mean; 3*2 inner points, 4 + 4 on two edges, 3 + 3 on the others, 1)
model HeatPlate
  parameter Integer nx = 5, ny = 4;
  parameter Real a = 0.3, h = 0.1;
  parameter Real edge[ny] = {100*j/ny for j in 1:ny};
  Real T[nx, ny](start = {{20 + i*j for j in 1:ny} for i in 1:nx});
  Real mean;
equation
  for i in 2:nx - 1, j in 2:ny - 1 loop
    der(T[i, j]) = a/h^2*(T[i - 1, j] + T[i + 1, j] + T[i, j - 1] + T[i, j + 1] - 4*T[i, j]);
  end for;
  T[1, :] = edge;
  T[nx, :] = zeros(ny);
  for i in 2:nx - 1 loop
    for j in {1, ny} loop
      der(T[i, j]) = -a*(T[i, j] - 20);
    end for;
  end for;
  mean = sum(T)/(nx*ny);
end HeatPlate;
