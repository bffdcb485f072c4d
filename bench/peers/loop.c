/* Calls the generated functions of peer.c in a loop: prints their results and the shortest time.

   usage: loop POINT    with the counts and numbers of x, d, p and t, one per line */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef int function(const double **, double **, long long *, double *, int);
typedef int sizes(long long *, long long *, long long *, long long *);
typedef const long long *sparsity(long long);
extern function residual, jacobian;
extern sizes residual_work, jacobian_work;
extern sparsity residual_sparsity_out, jacobian_sparsity_out;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * t.tv_sec + t.tv_nsec;
}

/* Number of entries: rows, columns, then 1 for a dense matrix or the starts of the columns. */
static long long n_entries(const long long *s) {
  return s[2] == 1 ? s[0] * s[1] : s[2 + s[1]];
}

static void run(const char *name, function *f, sizes *work, sparsity *pattern, int n_out,
                const double **point) {
  long long n_arg, n_res, n_iw, n_w;
  work(&n_arg, &n_res, &n_iw, &n_w);
  const double **arg = calloc(n_arg + 1, sizeof *arg);
  double **res = calloc(n_res + 1, sizeof *res);
  long long *iw = calloc(n_iw + 1, sizeof *iw);
  double *w = calloc(n_w + 1, sizeof *w);
  for (int i = 0; i < 4; i++) arg[i] = point[i];
  for (int i = 0; i < n_out; i++) res[i] = calloc(n_entries(pattern(i)) + 1, sizeof(double));
  f(arg, res, iw, w, 0);
  for (int i = 0; i < n_out; i++)
    for (long long k = 0; k < n_entries(pattern(i)); k++) printf("%s %.17g\n", name, res[i][k]);
  double start = now();
  for (int i = 0; i < 10; i++) f(arg, res, iw, w, 0);
  double once = (now() - start) / 10 + 1, best = 1e300;
  long calls = (long)(2e5 / once) + 1;
  for (int repeat = 0; repeat < 300; repeat++) {
    start = now();
    for (long i = 0; i < calls; i++) f(arg, res, iw, w, 0);
    double each = (now() - start) / calls;
    if (each < best) best = each;
  }
  printf("time_%s %.3f\n", name, best);
}

int main(int argc, char **argv) {
  FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
  if (!file) return 2;
  const double *point[4];
  for (int i = 0; i < 4; i++) {
    long n;
    if (fscanf(file, "%ld", &n) != 1) return 2;
    double *numbers = calloc(n + 1, sizeof(double));
    for (long k = 0; k < n; k++)
      if (fscanf(file, "%lf", &numbers[k]) != 1) return 2;
    point[i] = numbers;
  }
  run("residual", residual, residual_work, residual_sparsity_out, 1, point);
  run("jacobian", jacobian, jacobian_work, jacobian_sparsity_out, 2, point);
  return 0;
}
