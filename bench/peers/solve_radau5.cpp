// RADAU5 of Hairer and Wanner, called in the library of R's package deSolve without R: M y' = f(t, y), unknowns sorted by their index.
//
// The structure y_i' = y_(i+m2) of mechanisms is told, as RADAU5's text recommends, and for comparison not told; Jacobians are
// its own differences.
// Prints one JSON document for each problem, form and tolerance.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

using Vector = std::vector<double>;
using Function = void (*)(double t, const double *y, double *f);

extern "C" {
void radau5_(int *n, void (*)(int *, double *, double *, double *, double *, int *), double *t, double *y, double *end, double *h,
             double *rtol, double *atol, int *itol, void (*)(int *, double *, double *, double *, int *, double *, int *),
             int *ijac, int *mljac, int *mujac, void (*)(int *, double *, int *, double *, int *), int *imas, int *mlmas,
             int *mumas, void (*)(int *, double *, double *, double *, double *, int *, int *, double *, int *, int *), int *iout,
             double *work, int *lwork, int *iwork, int *liwork, double *rpar, int *ipar, int *idid);
// R's console, which is not there: RADAU5 says by its return value what it prints as well.
void Rprintf(const char *, ...) {}
}

struct Problem {
    const char *name, *form;
    double end;
    Vector start;
    // Absolute tolerances as multiples of the relative one.
    Vector scale;
    // How many unknowns are of index 1 (or differential), 2 and 3.
    int index[3];
    // y_i' = y_(i + m2) for i < m1.
    int m1, m2;
    // How many of the equations after the first m1 have a derivative.
    int n_rates;
    // Places of the compared values.
    std::vector<int> compared;
    Function right;
};

static const Problem *current;

static void right(int *, double *t, double *y, double *f, double *, int *) { current->right(*t, y, f); }
static void jacobian(int *, double *, double *, double *, int *, double *, int *) {}
static void mass(int *n, double *diagonal, int *, double *, int *) {
    for (int i = 0; i < *n; i++) diagonal[i] = i < current->n_rates ? 1.0 : 0.0;
}
static void output(int *, double *, double *, double *, double *, int *, int *, double *, int *, int *) {}

// One run; the return value of RADAU5, 1 for success.
static int solve(const Problem &problem, double tolerance, Vector &y) {
    current = &problem;
    y = problem.start;
    int n = y.size(), rest = n - problem.m1, itol = 1, none = 0, one = 1, steps = 0;
    double t = 0.0, end = problem.end, h = 0.0, rpar = 0.0;
    Vector rtol(n, tolerance), atol;
    for (double scale : problem.scale) atol.push_back(tolerance * scale);
    int lwork = n * (rest + 12) + rest * (1 + 3 * rest) + 20, liwork = 3 * n + 20, idid = 0;
    Vector work(lwork, 0.0);
    std::vector<int> iwork(liwork, 0);
    iwork[1] = 1000000;
    for (int i = 0; i < 3; i++) iwork[4 + i] = problem.index[i];
    iwork[8] = problem.m1;
    iwork[9] = problem.m2;
    radau5_(&n, right, &t, y.data(), &end, &h, rtol.data(), atol.data(), &itol, jacobian, &none, &rest, &rest, mass, &one, &none,
            &none, output, &none, work.data(), &lwork, iwork.data(), &liwork, &rpar, &steps, &idid);
    return idid;
}

// x, y, velocities, force: the constraint differentiated `Level` times.
template <int Level> static void pendulum(double, const double *y, double *f) {
    const double g = 9.81;
    f[0] = y[2];
    f[1] = y[3];
    f[2] = -y[4] * y[0];
    f[3] = -y[4] * y[1] - g;
    if (Level == 0) f[4] = y[0] * y[0] + y[1] * y[1] - 1.0;
    if (Level == 1) f[4] = y[0] * y[2] + y[1] * y[3];
    if (Level == 2) f[4] = y[2] * y[2] + y[3] * y[3] - y[4] * (y[0] * y[0] + y[1] * y[1]) - g * y[1];
}

static void toy(double t, const double *y, double *f) {
    f[0] = y[1];
    f[1] = y[2];
    f[2] = y[0] + std::sin(t);
}

static void akzo(double, const double *y, double *f) {
    const double root = std::sqrt(y[1]);
    const double r1 = 18.7 * y[0] * y[0] * y[0] * y[0] * root, r2 = 0.58 * y[2] * y[3], r3 = 0.58 / 34.4 * y[0] * y[4];
    const double r4 = 0.09 * y[0] * y[3] * y[3], r5 = 0.42 * y[5] * y[5] * root;
    f[0] = -2 * r1 + r2 - r3 - r4;
    f[1] = -0.5 * r1 - r4 - 0.5 * r5 + 3.3 * (0.9 / 737.0 - y[1]);
    f[2] = r1 - r2 + r3;
    f[3] = -r2 + r3 - 2 * r4;
    f[4] = r2 - r3 + r5;
    f[5] = 115.83 * y[0] * y[3] - y[5];
}

static void arm(double t, const double *s, double *f) {
    const double x1 = s[0], x2 = s[1], x3 = s[2], x4 = s[3], x6 = s[5], x7 = s[6], x8 = s[7];
    const double n = 2 - std::cos(x3) * std::cos(x3), a = 2 / n, b = std::cos(x3) / n, c = std::sin(x3) / n;
    const double d = std::cos(x3) * std::sin(x3) / n, e = 2 * x3 - x2, sum = (x4 + x6) * (x4 + x6);
    f[0] = x4;
    f[1] = s[4];
    f[2] = x6;
    f[3] = 2 * c * sum + x4 * x4 * d + e * (a + 2 * b) + a * x7;
    f[4] = -2 * c * sum - x4 * x4 * d + e * (1 - 3 * a - 2 * b) - a * x7 + x8;
    f[5] = -2 * c * sum - x4 * x4 * d + e * (a - 9 * b) - (a + b) * x7 - d * sum - 2 * x4 * x4 * c;
    f[6] = std::cos(x1) + std::cos(x1 + x3) - std::cos(std::exp(t) - 1) - std::cos(t - 1);
    f[7] = std::sin(x1) + std::sin(x1 + x3) - std::sin(1 - std::exp(t)) - std::sin(1 - t);
}

// An angle with its sine, cosine and rates; a cos(angle) and a sin(angle) differentiated `Level` times.
template <int Level> struct Angle {
    double s, c, rate, acceleration;
    Angle(double angle, double rate, double acceleration)
        : s(std::sin(angle)), c(std::cos(angle)), rate(rate), acceleration(acceleration) {}
    double cosine(double a) const {
        return Level == 0 ? a * c : Level == 1 ? -a * s * rate : -a * (s * acceleration + c * rate * rate);
    }
    double sine(double a) const {
        return Level == 0 ? a * s : Level == 1 ? a * c * rate : a * (c * acceleration - s * rate * rate);
    }
};

// Angles, velocities, accelerations and forces of Andrews' squeezer: the loops differentiated `Level` times.
template <int Level> static void andrews(double, const double *y, double *f) {
    const double m1 = 0.04325, m2 = 0.00365, m3 = 0.02373, m4 = 0.00706, m5 = 0.0705, m6 = 0.00706, m7 = 0.05498;
    const double i1 = 2.194e-6, i2 = 4.41e-7, i3 = 5.255e-6, i4 = 5.667e-7, i5 = 1.169e-5, i6 = 5.667e-7, i7 = 1.912e-5;
    const double xa = -0.06934, ya = -0.00227, xb = -0.03635, yb = 0.03273, xc = 0.014, yc = 0.072;
    const double rr = 0.007, d = 0.028, ss = 0.035, e = 0.02, zt = 0.04, zf = 0.02, u = 0.04, ra = 0.00092, da = 0.0115;
    const double sa = 0.01874, sb = 0.01043, sc = 0.018, sd = 0.02, ea = e - 0.01421, fa = zf - 0.01421;
    const double ta = 0.02308, tb = 0.00916, ua = 0.01228, ub = 0.00449, c0 = 4530.0, l0 = 0.07785, drive = 0.033;
    const double *q = y, *v = y + 7, *w = y + 14, *l = y + 21;
    const Angle<Level> beta(q[0], v[0], w[0]), both(q[0] + q[1], v[0] + v[1], w[0] + w[1]), gamma(q[2], v[2], w[2]);
    const Angle<Level> delta(q[4], v[4], w[4]), phi(q[3] + q[4], v[3] + v[4], w[3] + w[4]);
    const Angle<Level> epsilon(q[6], v[6], w[6]), omega(q[5] + q[6], v[5] + v[6], w[5] + w[6]);
    const double st = std::sin(q[1]), ct = std::cos(q[1]), sp = std::sin(q[3]), cp = std::cos(q[3]), so = std::sin(q[5]),
                 co = std::cos(q[5]);
    for (int j = 0; j < 14; j++) f[j] = y[7 + j];
    const double odd = l[0] + l[2] + l[4], even = l[1] + l[3] + l[5];
    const double m12 = m2 * (da * da - da * rr * ct) + i2, m45 = m4 * (ea * ea + zt * ea * sp) + i4;
    const double m67 = m6 * (fa * fa - u * fa * so) + i6;
    const double m11 = m1 * ra * ra + m2 * (rr * rr - 2 * da * rr * ct + da * da) + i1 + i2;
    const double m55 = m4 * (zt * zt + 2 * zt * ea * sp + ea * ea) + m5 * (ta * ta + tb * tb) + i4 + i5;
    const double m77 = m6 * (fa * fa - 2 * u * fa * so + u * u) + m7 * (ua * ua + ub * ub) + i6 + i7;
    const double xd = sd * gamma.c + sc * gamma.s + xb - xc, yd = sd * gamma.s - sc * gamma.c + yb - yc;
    const double length = std::sqrt(xd * xd + yd * yd), pull = c0 * (l0 - length) / length;
    f[14] = m11 * w[0] + m12 * w[1] + (d * both.s - rr * beta.s) * odd + (rr * beta.c - d * both.c) * even - drive +
            m2 * da * rr * v[1] * (v[1] + 2 * v[0]) * st;
    f[15] = m12 * w[0] + (m2 * da * da + i2) * w[1] + d * (both.s * odd - both.c * even) - m2 * da * rr * v[0] * v[0] * st;
    f[16] = (m3 * (sa * sa + sb * sb) + i3) * w[2] - ss * (gamma.c * l[0] + gamma.s * l[1]) -
            pull * (xd * (sc * gamma.c - sd * gamma.s) + yd * (sd * gamma.c + sc * gamma.s));
    f[17] = (m4 * ea * ea + i4) * w[3] + m45 * w[4] - e * (phi.c * l[2] + phi.s * l[3]) - m4 * zt * ea * v[4] * v[4] * cp;
    f[18] = m45 * w[3] + m55 * w[4] + (zt * delta.s - e * phi.c) * l[2] - (zt * delta.c + e * phi.s) * l[3] +
            m4 * zt * ea * v[3] * (v[3] + 2 * v[4]) * cp;
    f[19] = (m6 * fa * fa + i6) * w[5] + m67 * w[6] + zf * (omega.s * l[4] - omega.c * l[5]) + m6 * u * fa * v[6] * v[6] * co;
    f[20] = m67 * w[5] + m77 * w[6] + (zf * omega.s - u * epsilon.c) * l[4] - (zf * omega.c + u * epsilon.s) * l[5] -
            m6 * u * fa * v[5] * (v[5] + 2 * v[6]) * co;
    const double x = beta.cosine(rr) - both.cosine(d), z = beta.sine(rr) - both.sine(d), fixed = Level == 0 ? 1.0 : 0.0;
    f[21] = x - gamma.sine(ss) - fixed * xb;
    f[22] = z + gamma.cosine(ss) - fixed * yb;
    f[23] = x - phi.sine(e) - delta.cosine(zt) - fixed * xa;
    f[24] = z + phi.cosine(e) - delta.sine(zt) - fixed * ya;
    f[25] = x - omega.cosine(zf) - epsilon.sine(u) - fixed * xa;
    f[26] = z - omega.sine(zf) + epsilon.cosine(u) - fixed * ya;
}

static double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

static const char *message(int idid) {
    switch (idid) {
    case -1: return "input is not consistent";
    case -2: return "larger number of steps is needed";
    case -3: return "step size becomes too small";
    case -4: return "matrix is repeatedly singular";
    default: return "";
    }
}

static void scan(const Problem &problem, const char *tool, const char *version) {
    for (int k = 6; k <= 26; k++) {
        const double tolerance = std::pow(10.0, -k / 2.0), begin = seconds();
        double best = 1e300;
        int idid = 1;
        Vector y;
        for (int repeat = 0; repeat < 200 && idid == 1 && (repeat < 3 || seconds() - begin < 0.15); repeat++) {
            const double start = seconds();
            idid = solve(problem, tolerance, y);
            best = std::fmin(best, seconds() - start);
        }
        std::printf("{\"problem\": \"%s\", \"tool\": \"%s\", \"version\": \"in deSolve %s\", \"form\": \"%s\", \"tolerance\": %.17g, "
                    "\"setup\": 0.0, \"solve\": %.9g, \"success\": %s, \"message\": \"%s\", \"values\": [",
                    problem.name, tool, version, problem.form, tolerance, best, idid == 1 ? "true" : "false", message(idid));
        for (size_t i = 0; i < problem.compared.size(); i++) {
            const double value = y[problem.compared[i]];
            std::printf(i ? ", " : "");
            std::isfinite(value) ? std::printf("%.17g", value) : std::printf("null");
        }
        std::printf("]}\n");
    }
}

int main(int, char **arguments) {
    const Vector squeezed = {-0.06171389001427645, 0.0, 0.45527981916307037, 0.22266839016588588,
                             0.48736497954384256, -0.22266839016588588, 1.2305474445498212, 0, 0, 0, 0, 0, 0, 0,
                             14222.4439199541138705911625887, -10666.8329399655854029433719415, 0, 0, 0, 0, 0,
                             98.5668703962410896057654982170, -6.12268834425566265503114393122, 0, 0, 0, 0};
    Vector sizes(27, 1.0);
    for (int i = 7; i < 27; i++) sizes[i] = i < 14 ? 1e3 : i < 21 ? 1e5 : 1e2;
    const std::vector<int> angles = {0, 1, 2, 3, 4, 5, 6};
    const Vector hanging = {1, 0, 0, 0, 0}, ones(8, 1.0), five(5, 1.0);
    const Vector reached = {0.0, 0.95375035118071916, 1.0, -1.0, -2.5319168790105381, 0.0, -3.5343727972411722, -0.74375268921139227};
    const Problem problems[] = {
        {"pendulum", "as it stands", 10, hanging, five, {2, 2, 1}, 2, 2, 2, {0, 1}, pendulum<0>},
        {"pendulum", "index 2 by hand", 10, hanging, five, {4, 1, 0}, 2, 2, 2, {0, 1}, pendulum<1>},
        {"pendulum", "index 1 by hand", 10, hanging, five, {5, 0, 0}, 2, 2, 2, {0, 1}, pendulum<2>},
        {"andrews", "as it stands", 0.03, squeezed, sizes, {7, 7, 13}, 14, 7, 0, angles, andrews<0>},
        {"andrews", "index 2 by hand", 0.03, squeezed, sizes, {14, 13, 0}, 14, 7, 0, angles, andrews<1>},
        {"andrews", "index 1 by hand", 0.03, squeezed, sizes, {27, 0, 0}, 14, 7, 0, angles, andrews<2>},
        {"akzo-nobel", "as it stands", 180, {0.444, 0.00123, 0, 0.007, 0, 115.83 * 0.444 * 0.007}, Vector(6, 1e-4), {6, 0, 0}, 0, 0, 5,
         {0, 1, 2, 3, 4, 5}, akzo},
        {"robotic-arm", "as it stands", 1.5, reached, ones, {3, 3, 2}, 3, 3, 3, {0, 1, 2, 3, 4, 5, 6, 7}, arm},
        {"index3-toy", "as it stands", 1, {0, -1, 0}, Vector(3, 1.0), {1, 1, 1}, 2, 1, 0, {2, 1, 0}, toy},
    };
    for (const Problem &problem : problems) {
        scan(problem, "RADAU5", arguments[1]);
        if (problem.m1 == 0) continue;
        Problem plain = problem;
        plain.n_rates += plain.m1;
        plain.m1 = plain.m2 = 0;
        scan(plain, "RADAU5, structure not told,", arguments[1]);
    }
}
