/* An FMU that daelight did not make: x' = -k x by Euler's method, in FMI 2.0 and 3.0, with manners that can be chosen. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*logger2)(void *, const char *, int, const char *, const char *, ...);
typedef void (*logger3)(void *, int, const char *, const char *);
typedef struct {
  logger2 logger;
  void *(*allocate)(size_t, size_t);
  void (*release)(void *);
  void *finished, *environment;
} callbacks;

typedef struct {
  double x, k, time;
  int manner; /* 0 good, 1 prints, 2 crashes, 3 hangs, 4 fails, 5 ends early */
  callbacks two;
  logger3 three;
  void *environment;
} model;

static void *make(void) {
  model *m = calloc(1, sizeof(model));
  m->x = 1;
  m->k = 1;
  return m;
}

static void say(model *m, int status, const char *text) {
  if (m->two.logger) m->two.logger(m->two.environment, "m", status, "logAll", text);
  if (m->three) m->three(m->environment, status, "logAll", text);
}

static int go(model *m, double from, double step) {
  bool late = from + step > 0.5;
  if (m->manner == 1) printf("step from %g\n", from), fflush(stdout);
  if (m->manner == 2 && late) *(volatile int *)0 = 1;
  while (m->manner == 3 && late) {}
  if (m->manner == 4 && late) return say(m, 3, "the tank is empty"), 3;
  if (m->manner == 5 && late) {
    m->time = 0.5;
    return say(m, 2, "the tank overflows"), 2;
  }
  int n = 1000;
  for (int i = 0; i < n; i++) m->x -= step / n * m->k * m->x;
  m->time = from + step;
  return 0;
}

/* Value references: 0 time, 1 x, 2 k; 3 manner. */
static int get(model *m, unsigned vr, double *v) {
  double all[] = {m->time, m->x, m->k};
  if (vr > 2) return 3;
  *v = all[vr];
  return 0;
}

static int set(model *m, unsigned vr, double v) {
  if (vr == 1) m->x = v;
  else if (vr == 2) m->k = v;
  else return 3;
  return 0;
}

void *fmi2Instantiate(const char *n, int kind, const char *guid, const char *where, const callbacks *f, int v, int l) {
  if (strcmp(guid, "{foreign}")) return NULL;
  model *m = make();
  m->two = *f;
  return m;
}
void fmi2FreeInstance(void *m) { free(m); }
int fmi2SetupExperiment(void *m, int a, double b, double c, int d, double e) { ((model *)m)->time = c; return 0; }
int fmi2EnterInitializationMode(void *m) { return 0; }
int fmi2ExitInitializationMode(void *m) { return 0; }
int fmi2Terminate(void *m) { return 0; }
int fmi2DoStep(void *m, double from, double step, int keep) { return go(m, from, step); }
int fmi2GetRealStatus(void *m, int kind, double *v) { *v = ((model *)m)->time; return 0; }
int fmi2GetReal(void *m, const unsigned *vr, size_t n, double *v) { return get(m, *vr, v); }
int fmi2SetReal(void *m, const unsigned *vr, size_t n, const double *v) { return set(m, *vr, *v); }
int fmi2GetInteger(void *m, const unsigned *vr, size_t n, int *v) { *v = ((model *)m)->manner; return 0; }
int fmi2SetInteger(void *m, const unsigned *vr, size_t n, const int *v) { ((model *)m)->manner = *v; return 0; }

void *fmi3InstantiateCoSimulation(const char *n, const char *token, const char *where, bool v, bool l, bool e, bool r,
                                  const unsigned *i, size_t ni, void *environment, logger3 log, void *u) {
  if (strcmp(token, "{foreign}")) return NULL;
  model *m = make();
  m->three = log;
  m->environment = environment;
  return m;
}
void fmi3FreeInstance(void *m) { free(m); }
int fmi3EnterInitializationMode(void *m, bool a, double b, double c, bool d, double e) { ((model *)m)->time = c; return 0; }
int fmi3ExitInitializationMode(void *m) { return 0; }
int fmi3Terminate(void *m) { return 0; }
int fmi3DoStep(void *m, double from, double step, bool keep, bool *event, bool *ends, bool *early, double *last) {
  *event = *ends = *early = false;
  int status = go(m, from, step);
  *last = ((model *)m)->time;
  return status;
}
int fmi3GetFloat64(void *m, const unsigned *vr, size_t n, double *v, size_t nv) {
  if (*vr != 4) return get(m, *vr, v);
  /* An array of 2 by 3: x, 2 x, 3 x and k, 2 k, 3 k. */
  for (size_t i = 0; i < nv; i++) v[i] = (i % 3 + 1) * (i < 3 ? ((model *)m)->x : ((model *)m)->k);
  return nv == 6 ? 0 : 3;
}
int fmi3SetFloat64(void *m, const unsigned *vr, size_t n, const double *v, size_t nv) { return set(m, *vr, *v); }
int fmi3GetInt32(void *m, const unsigned *vr, size_t n, int *v, size_t nv) { *v = ((model *)m)->manner; return 0; }
int fmi3SetInt32(void *m, const unsigned *vr, size_t n, const int *v, size_t nv) { ((model *)m)->manner = *v; return 0; }
