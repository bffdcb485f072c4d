// RADAU5 of Hairer and Wanner on the stiff problems, called in the library of R's package deSolve without R. Jacobians are its own differences,
// banded where the equations are.
#include "stiff_problems.hpp"

extern "C" {
void radau5_(int *n, void (*)(int *, double *, double *, double *, double *, int *), double *t, double *y, double *end, double *h,
             double *rtol, double *atol, int *itol, void (*)(int *, double *, double *, double *, int *, double *, int *),
             int *ijac, int *mljac, int *mujac, void (*)(int *, double *, int *, double *, int *), int *imas, int *mlmas,
             int *mumas, void (*)(int *, double *, double *, double *, double *, int *, int *, double *, int *, int *), int *iout,
             double *work, int *lwork, int *iwork, int *liwork, double *rpar, int *ipar, int *idid);
// R's console, which is not there: RADAU5 says by its return value what it prints as well.
void Rprintf(const char *, ...) {}
}

static const Stiff *current;
static void right(int *, double *t, double *y, double *f, double *, int *) { current->right(*t, y, f); }
static void jacobian(int *, double *, double *, double *, int *, double *, int *) {}
static int width() {
    int wide = 0;
    for (const Entry &entry : current->mass) wide = std::max(wide, std::abs(entry.row - entry.column));
    return wide;
}
static void mass(int *n, double *am, int *rows, double *, int *) {
    for (int i = 0; i < *n * *rows; i++) am[i] = 0;
    for (const Entry &entry : current->mass) am[entry.row - entry.column + width() + entry.column * *rows] = entry.value;
}
static void output(int *, double *, double *, double *, double *, int *, int *, double *, int *, int *) {}

static std::string solve(const Stiff &problem, double tolerance, Vector &y) {
    current = &problem;
    y = problem.start;
    int n = y.size(), itol = 1, none = 0, steps = 0, beside = problem.band ? problem.band : n;
    int has_mass = !problem.mass.empty(), wide = width();
    const int ljac = problem.band ? 2 * beside + 1 : n, le = problem.band ? 3 * beside + 1 : n, lmas = has_mass ? 2 * wide + 1 : 0;
    int lwork = n * (ljac + lmas + 3 * le + 12) + 20, liwork = 3 * n + 20, idid = 0;
    Vector rtol(n, tolerance), atol;
    for (double size : problem.nominal) atol.push_back(tolerance * size);
    double t = 0.0, rpar = 0.0;
    for (double end : legs(problem)) {
        Vector work(lwork, 0.0), relative = rtol, absolute = atol;
        std::vector<int> iwork(liwork, 0);
        iwork[1] = 10000000;
        for (int i = 0; i < 3; i++) iwork[4 + i] = problem.index[i];
        // A jump belongs to the leg before it.
        double h = 0.0;
        if (t > 0) t = std::nextafter(t, end);
        radau5_(&n, right, &t, y.data(), &end, &h, relative.data(), absolute.data(), &itol, jacobian, &none, &beside, &beside, mass, &has_mass,
                &wide, &wide, output, &none, work.data(), &lwork, iwork.data(), &liwork, &rpar, &steps, &idid);
        if (idid == -1) return "input is not consistent";
        if (idid == -2) return "larger number of steps is needed";
        if (idid == -3) return "step size becomes too small";
        if (idid == -4) return "matrix is repeatedly singular";
    }
    return "";
}

int main(int n, char **arguments) {
    const std::string version = std::string("in deSolve ") + arguments[1];
    for (const Stiff &problem : stiff_problems())
        if (n < 3 || problem.name == arguments[2]) scan(problem, "RADAU5", version.c_str(), solve);
}
