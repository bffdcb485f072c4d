// The stiff problems of `bench stiff`, written by hand as M y' = f(t, y) for solvers that are programs or libraries.
//
// Equations are templates over the kind of number, so that derivatives along a direction come from dual numbers.
#pragma once
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

using Vector = std::vector<double>;

// A number with its derivative in one direction.
struct Dual {
    double v, d;
    Dual(double v = 0, double d = 0) : v(v), d(d) {}
};
inline Dual operator+(Dual a, Dual b) { return {a.v + b.v, a.d + b.d}; }
inline Dual operator-(Dual a, Dual b) { return {a.v - b.v, a.d - b.d}; }
inline Dual operator-(Dual a) { return {-a.v, -a.d}; }
inline Dual operator*(Dual a, Dual b) { return {a.v * b.v, a.v * b.d + a.d * b.v}; }
inline Dual operator/(Dual a, Dual b) { return {a.v / b.v, (a.d - a.v / b.v * b.d) / b.v}; }
inline Dual &operator+=(Dual &a, Dual b) { return a = a + b; }
inline Dual exp(Dual a) { return {std::exp(a.v), a.d * std::exp(a.v)}; }
inline Dual sqrt(Dual a) { return {std::sqrt(a.v), a.d / (2 * std::sqrt(a.v))}; }
inline Dual sin(Dual a) { return {std::sin(a.v), a.d * std::cos(a.v)}; }
inline Dual cos(Dual a) { return {std::cos(a.v), -a.d * std::sin(a.v)}; }

struct Entry {
    int row, column;
    double value;
};

struct Stiff {
    // The name of the model and how its equations were written here.
    std::string name, form;
    double end;
    Vector start;
    // Nominal sizes, which scale the absolute tolerance.
    Vector nominal;
    // M, or nothing where it is the identity.
    std::vector<Entry> mass;
    // How many unknowns are of index 1 (or differential), 2 and 3.
    int index[3];
    // Diagonals beside the main one on each side; 0 where the Jacobian is full.
    int band;
    // Times at which f jumps.
    Vector jumps;
    std::function<void(double, const double *, double *)> right;
    std::function<void(double, const Dual *, Dual *)> right_dual;
    // From the unknowns to those of the model.
    std::function<Vector(const Vector &)> back;
};

template <class F>
Stiff stiff(std::string name, std::string form, double end, Vector start, F f, int band = 0, Vector nominal = {}) {
    const int n = start.size();
    if (nominal.empty()) nominal = Vector(n, 1.0);
    return {name, form, end, start, nominal, {}, {n, 0, 0}, band, {},
            [f](double t, const double *y, double *r) { f(t, y, r); }, [f](double t, const Dual *y, Dual *r) { f(t, y, r); },
            [](const Vector &y) { return y; }};
}

inline std::vector<Entry> ones(int n) {
    std::vector<Entry> mass;
    for (int i = 0; i < n; i++) mass.push_back({i, i, 1.0});
    return mass;
}

inline Vector parted(const Vector &y) {
    Vector out;
    for (size_t part = 0; part < 2; part++)
        for (size_t i = part; i < y.size(); i += 2) out.push_back(y[i]);
    return out;
}

// Charges on a sphere: positions, velocities, and for the form of index 2 both kinds of multipliers.
template <class T> void fekete(bool by_hand, const T *y, T *f) {
    const int n = 20;
    const T *p = y, *q = y + 3 * n, *lambda = y + 6 * n, *mu = y + 7 * n;
    for (int i = 0; i < n; i++) {
        T force[3] = {T(0), T(0), T(0)};
        for (int j = 0; j < n; j++) {
            if (j == i) continue;
            T d[3], square = T(0);
            for (int k = 0; k < 3; k++) {
                d[k] = p[3 * i + k] - p[3 * j + k];
                square += d[k] * d[k];
            }
            const T inverse = T(1.0) / square;
            for (int k = 0; k < 3; k++) force[k] += d[k] * inverse;
        }
        T pp = T(0), pq = T(0), along = T(0);
        for (int k = 0; k < 3; k++) {
            force[k] = force[k] - T(0.5) * q[3 * i + k];
            pp += p[3 * i + k] * p[3 * i + k];
            pq += p[3 * i + k] * q[3 * i + k];
            along += q[3 * i + k] * q[3 * i + k] + p[3 * i + k] * force[k];
        }
        const T twice = by_hand ? -along / pp : T(2.0) * lambda[i];
        for (int k = 0; k < 3; k++) {
            f[3 * i + k] = by_hand ? q[3 * i + k] : q[3 * i + k] + T(2.0) * mu[i] * p[3 * i + k];
            f[3 * n + 3 * i + k] = force[k] + twice * p[3 * i + k];
        }
        if (!by_hand) {
            f[6 * n + i] = pp - T(1.0);
            f[7 * n + i] = T(2.0) * pq;
        }
    }
}

inline Vector fekete_start(bool by_hand) {
    const double pi = 3.141592653589793;
    Vector y(by_hand ? 120 : 160, 0.0);
    for (int i = 0; i < 20; i++) {
        double omega, beta;
        if (i < 3) omega = 2 * (i + 1) * pi / 3 + pi / 13, beta = 3 * pi / 8;
        else if (i < 10) omega = 2 * (i - 2) * pi / 7 + pi / 29, beta = pi / 8;
        else if (i < 16) omega = (i - 9) * pi / 3 + pi / 7, beta = -2 * pi / 15;
        else omega = (i - 16) * pi / 2 + pi / 17, beta = -3 * pi / 10;
        y[3 * i] = std::cos(omega) * std::cos(beta);
        y[3 * i + 1] = std::sin(omega) * std::cos(beta);
        y[3 * i + 2] = std::sin(beta);
    }
    if (by_hand) return y;
    Vector f(120), reduced(y.begin(), y.begin() + 120);
    fekete<double>(true, reduced.data(), f.data());
    // lambda_i: the part of q' along p.
    for (int i = 0; i < 20; i++) {
        Vector at = y, right(160);
        fekete<double>(false, at.data(), right.data());
        double along = 0;
        for (int k = 0; k < 3; k++) along += y[3 * i + k] * right[60 + 3 * i + k];
        y[120 + i] = -along / 2;
    }
    return y;
}

// The force of the stiff spring between two bobs, over its length.
template <class T> T spring(const T *a, const T *b, const T *va, const T *vb, T &length) {
    const T dx = b[0] - a[0], dy = b[1] - a[1];
    using std::sqrt;
    length = sqrt(dx * dx + dy * dy);
    const T force = T(1e6) * (length - T(1.0)) + T(2e3) * (dx * (vb[0] - va[0]) + dy * (vb[1] - va[1])) / length;
    return force / length;
}

inline std::vector<Stiff> stiff_problems() {
    using std::cos;
    using std::exp;
    using std::sin;
    using std::sqrt;
    std::vector<Stiff> all;
    const std::string plain = "as it stands", by_hand = "by hand";
    auto robertson = [](double, auto *y, auto *f) {
        auto r1 = 0.04 * y[0], r2 = 1e4 * y[1] * y[2], r3 = 3e7 * y[1] * y[1];
        f[0] = r2 - r1;
        f[1] = r1 - r2 - r3;
        f[2] = r3;
    };
    for (double end : {1e6, 1e11}) all.push_back(stiff("Robertson", plain, end, {1, 0, 0}, robertson, 0, {1, 1e-5, 1}));
    all.push_back(stiff("Oregonator", plain, 360, {1, 2, 3}, [](double, auto *y, auto *f) {
        f[0] = 77.27 * (y[1] + y[0] * (1.0 - 8.375e-6 * y[0] - y[1]));
        f[1] = (y[2] - (1.0 + y[0]) * y[1]) / 77.27;
        f[2] = 0.161 * (y[0] - y[2]);
    }));
    all.push_back(stiff("Hires", plain, 321.8122, {1, 0, 0, 0, 0, 0, 0, 0.0057}, [](double, auto *y, auto *f) {
        auto r = 280.0 * y[5] * y[7];
        f[0] = -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007;
        f[1] = 1.71 * y[0] - 8.75 * y[1];
        f[2] = -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4];
        f[3] = 8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3];
        f[4] = -1.745 * y[4] + 0.43 * (y[5] + y[6]);
        f[5] = 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6] - r;
        f[6] = r - 1.81 * y[6];
        f[7] = 1.81 * y[6] - r;
    }));
    all.push_back(stiff("VanDerPol", plain, 2, {2, 0}, [](double, auto *y, auto *f) {
        f[0] = y[1];
        f[1] = ((1.0 - y[0] * y[0]) * y[1] - y[0]) / 1e-6;
    }));
    all.push_back(stiff("E5", plain, 1e5, {1.76e-3, 0, 0, 0}, [](double, auto *y, auto *f) {
        auto r1 = 7.89e-10 * y[0], r2 = 1.1e7 * y[0] * y[2], r3 = 1.13e9 * y[1] * y[2], r4 = 1.13e3 * y[3];
        f[0] = -r1 - r2;
        f[1] = r1 - r3;
        f[2] = r1 - r2 + r4 - r3;
        f[3] = r2 - r4;
    }, 0, {1e-3, 1e-10, 1e-12, 1e-12}));
    all.push_back(stiff("Pollution", plain, 60, {0, 0.2, 0, 0.04, 0, 0, 0.1, 0.3, 0.01, 0, 0, 0, 0, 0, 0, 0, 0.007, 0, 0, 0},
                        [](double, auto *y, auto *f) {
        static const double k[25] = {0.35, 26.6, 12.3e3, 0.86e-3, 0.82e-3, 15e3, 0.13e-3, 24e3, 16.5e3, 9e3, 0.022, 12e3, 1.88,
                                     16.3e3, 4.8e6, 0.35e-3, 0.0175, 0.1e9, 0.444e12, 1.24e3, 2.1, 5.78, 0.0474, 1.78e3, 3.12};
        auto r1 = k[0] * y[0], r2 = k[1] * y[1] * y[3], r3 = k[2] * y[4] * y[1], r4 = k[3] * y[6], r5 = k[4] * y[6];
        auto r6 = k[5] * y[6] * y[5], r7 = k[6] * y[8], r8 = k[7] * y[8] * y[5], r9 = k[8] * y[10] * y[1], r10 = k[9] * y[10] * y[0];
        auto r11 = k[10] * y[12], r12 = k[11] * y[9] * y[1], r13 = k[12] * y[13], r14 = k[13] * y[0] * y[5], r15 = k[14] * y[2];
        auto r16 = k[15] * y[3], r17 = k[16] * y[3], r18 = k[17] * y[15], r19 = k[18] * y[15], r20 = k[19] * y[16] * y[5];
        auto r21 = k[20] * y[18], r22 = k[21] * y[18], r23 = k[22] * y[0] * y[3], r24 = k[23] * y[18] * y[0], r25 = k[24] * y[19];
        f[0] = -r1 - r10 - r14 - r23 - r24 + r2 + r3 + r9 + r11 + r12 + r22 + r25;
        f[1] = -r2 - r3 - r9 - r12 + r1 + r21;
        f[2] = -r15 + r1 + r17 + r19 + r22;
        f[3] = -r2 - r16 - r17 - r23 + r15;
        f[4] = -r3 + 2.0 * r4 + r6 + r7 + r13 + r20;
        f[5] = -r6 - r8 - r14 - r20 + r3 + 2.0 * r18;
        f[6] = -r4 - r5 - r6 + r13;
        f[7] = r4 + r5 + r6 + r7;
        f[8] = -r7 - r8;
        f[9] = -r12 + r7 + r9;
        f[10] = -r9 - r10 + r8 + r11;
        f[11] = r9;
        f[12] = -r11 + r10;
        f[13] = -r13 + r12;
        f[14] = r14;
        f[15] = -r18 - r19 + r16;
        f[16] = -r20;
        f[17] = r20;
        f[18] = -r21 - r22 - r24 + r23 + r25;
        f[19] = -r25 + r24;
    }));
    all.push_back(stiff("RingModulator", plain, 1e-3, Vector(15, 0.0), [](double t, auto *y, auto *f) {
        const double pi = 3.14159265358979323846, g = 40.67286402e-9, d = 17.7493332;
        const double u1 = 0.5 * sin(2e3 * pi * t), u2 = 2 * sin(2e4 * pi * t);
        auto q1 = g * (exp(d * (y[2] - y[4] - y[6] - u2)) - 1.0), q2 = g * (exp(d * (y[5] - y[3] - y[6] - u2)) - 1.0);
        auto q3 = g * (exp(d * (y[3] + y[4] + y[6] + u2)) - 1.0), q4 = g * (exp(d * (y[6] - y[2] - y[5] + u2)) - 1.0);
        const double c = 1 / 1.6e-8, cs = 1 / 2e-12, cp = 1 / 1e-8, lh = 1 / 4.45, l1 = 1 / 2e-3, l2 = 1 / 5e-4;
        f[0] = c * (y[7] - 0.5 * y[9] + 0.5 * y[10] + y[13] - y[0] / 25000.0);
        f[1] = c * (y[8] - 0.5 * y[11] + 0.5 * y[12] + y[14] - y[1] / 25000.0);
        f[2] = cs * (y[9] - q1 + q4);
        f[3] = cs * (q2 - y[10] - q3);
        f[4] = cs * (y[11] + q1 - q3);
        f[5] = cs * (q4 - y[12] - q2);
        f[6] = cp * (q1 + q2 - y[6] / 50.0 - q3 - q4);
        f[7] = -lh * y[0];
        f[8] = -lh * y[1];
        f[9] = l2 * (0.5 * y[0] - y[2] - 17.3 * y[9]);
        f[10] = l2 * (y[3] - 0.5 * y[0] - 17.3 * y[10]);
        f[11] = l2 * (0.5 * y[1] - y[4] - 17.3 * y[11]);
        f[12] = l2 * (y[5] - 0.5 * y[1] - 17.3 * y[12]);
        f[13] = l1 * (u1 - y[0] - 86.3 * y[13]);
        f[14] = l1 * (-y[1] - 636.3 * y[14]);
    }));
    all.push_back(stiff("akzo-nobel", plain, 180, {0.444, 0.00123, 0, 0.007, 0, 115.83 * 0.444 * 0.007}, [](double, auto *y, auto *f) {
        auto root = sqrt(y[1]);
        auto r1 = 18.7 * y[0] * y[0] * y[0] * y[0] * root, r2 = 0.58 * y[2] * y[3], r3 = 0.58 / 34.4 * y[0] * y[4];
        auto r4 = 0.09 * y[0] * y[3] * y[3], r5 = 0.42 * y[5] * y[5] * root;
        f[0] = r2 - 2.0 * r1 - r3 - r4;
        f[1] = 3.3 * (0.9 / 737.0 - y[1]) - 0.5 * r1 - r4 - 0.5 * r5;
        f[2] = r1 - r2 + r3;
        f[3] = r3 - r2 - 2.0 * r4;
        f[4] = r2 - r3 + r5;
        f[5] = 115.83 * y[0] * y[3] - y[5];
    }, 0, {1, 1e-3, 1, 1e-3, 1e-2, 1}));
    all.back().mass = ones(5);
    all.push_back(stiff("TransistorAmplifier", plain, 0.2, {0, 3, 3, 6, 3, 3, 6, 0}, [](double t, auto *y, auto *f) {
        const double ub = 6, uf = 0.026, alpha = 0.99, beta = 1e-6, r0 = 1000, r = 9000;
        auto g1 = beta * (exp((y[1] - y[2]) / uf) - 1.0), g2 = beta * (exp((y[4] - y[5]) / uf) - 1.0);
        f[0] = (y[0] - 0.1 * sin(200 * 3.141592653589793 * t)) / r0;
        f[1] = y[1] * (2 / r) - ub / r + (1 - alpha) * g1;
        f[2] = y[2] / r - g1;
        f[3] = y[3] / r - ub / r + alpha * g1;
        f[4] = y[4] * (2 / r) - ub / r + (1 - alpha) * g2;
        f[5] = y[5] / r - g2;
        f[6] = y[6] / r - ub / r + alpha * g2;
        f[7] = y[7] / r;
    }));
    for (auto [i, c] : {std::pair(0, 1e-6), {3, 3e-6}, {6, 5e-6}})
        for (int row : {0, 1})
            for (int column : {0, 1}) all.back().mass.push_back({i + row, i + column, row == column ? -c : c});
    all.back().mass.push_back({2, 2, -2e-6});
    all.back().mass.push_back({5, 5, -4e-6});
    Vector start;
    for (int i = 0; i < 200; i++) start.insert(start.end(), {0.0, 1.0});
    all.push_back(stiff("MedicalAkzo", plain, 20, start, [](double t, auto *y, auto *f) {
        const int n = 200;
        const double d = 1.0 / n, phi = t <= 5 ? 2 : 0;
        for (int i = 0; i < n; i++) {
            const double z = (i + 1) * d - 1, a = z * z * z / 8 / (2 * d), b = z * z * z * z / 16 / (d * d);
            auto u = y[2 * i], below = u * 0.0 + phi, above = u;
            if (i > 0) below = y[2 * i - 2];
            if (i + 1 < n) above = y[2 * i + 2];
            auto r = 100.0 * u * y[2 * i + 1];
            f[2 * i] = a * (above - below) + b * (below - 2.0 * u + above) - r;
            f[2 * i + 1] = -r;
        }
    }, 2));
    all.back().jumps = {5};
    all.back().back = parted;
    start.clear();
    for (int i = 1; i <= 100; i++) start.insert(start.end(), {1 + std::sin(2 * 3.141592653589793 * i / 101.0), 3.0});
    all.push_back(stiff("Brusselator", plain, 10, start, [](double, auto *y, auto *f) {
        const int n = 100;
        const double alpha = 0.02 * (n + 1) * (n + 1);
        for (int i = 0; i < n; i++) {
            auto u = y[2 * i], v = y[2 * i + 1];
            auto ul = u * 0.0 + 1.0, ur = ul, vl = u * 0.0 + 3.0, vr = vl;
            if (i > 0) ul = y[2 * i - 2], vl = y[2 * i - 1];
            if (i + 1 < n) ur = y[2 * i + 2], vr = y[2 * i + 3];
            auto uuv = u * u * v;
            f[2 * i] = 1.0 + uuv - 4.0 * u + alpha * (ul - 2.0 * u + ur);
            f[2 * i + 1] = 3.0 * u - uuv + alpha * (vl - 2.0 * v + vr);
        }
    }, 2));
    all.back().back = parted;
    start.clear();
    for (int i = 1; i <= 2000; i++)
        start.push_back(std::sin(3.141592653589793 * i / 2001.0) + 0.5 * std::sin(31.41592653589793 * i / 2001.0));
    all.push_back(stiff("Heat", plain, 0.02, start, [](double, auto *y, auto *f) {
        const int n = 2000;
        for (int i = 0; i < n; i++) {
            auto sum = -2.0 * y[i];
            if (i > 0) sum = sum + y[i - 1];
            if (i + 1 < n) sum = sum + y[i + 1];
            f[i] = 2001.0 * 2001.0 * sum;
        }
    }, 1));
    all.push_back(stiff("Fekete", plain, 20, fekete_start(false), [](double, auto *y, auto *f) { fekete(false, y, f); }));
    all.back().mass = ones(120);
    all.back().index[0] = 120;
    all.back().index[1] = 40;
    all.push_back(stiff("Fekete", by_hand, 20, fekete_start(true), [](double, auto *y, auto *f) { fekete(true, y, f); }));
    // The first bob by its angle: angle, rate, second bob and its velocity.
    all.push_back(stiff("StiffSwing", by_hand, 2, {3.141592653589793 / 2, 0, 1, -1, 0, 0}, [](double, auto *y, auto *f) {
        using T = std::decay_t<decltype(y[0])>;
        const T s = sin(y[0]), c = cos(y[0]);
        const T a[2] = {s, -c}, va[2] = {y[1] * c, y[1] * s}, b[2] = {y[2], y[3]}, vb[2] = {y[4], y[5]};
        T length;
        const T pull = spring(a, b, va, vb, length), fx = pull * (b[0] - a[0]), fy = pull * (b[1] - a[1]);
        f[0] = y[1];
        f[1] = fx * c + (fy - 9.81) * s;
        f[2] = y[4];
        f[3] = y[5];
        f[4] = -fx;
        f[5] = -fy - 9.81;
    }));
    all.back().back = [](const Vector &y) {
        const double s = std::sin(y[0]), c = std::cos(y[0]);
        return Vector{s, -c, y[1] * c, y[1] * s, y[2], y[3], y[4], y[5]};
    };
    // Both bobs, their velocities, and the multiplier of the rod: index 3.
    all.push_back(stiff("StiffSwing", plain, 2, {1, 0, 1, -1, 0, 0, 0, 0, 0}, [](double, auto *y, auto *f) {
        using T = std::decay_t<decltype(y[0])>;
        T length;
        const T pull = spring(y, y + 2, y + 4, y + 6, length), fx = pull * (y[2] - y[0]), fy = pull * (y[3] - y[1]);
        for (int i = 0; i < 4; i++) f[i] = y[4 + i];
        f[4] = fx - y[8] * y[0];
        f[5] = fy - 9.81 - y[8] * y[1];
        f[6] = -fx;
        f[7] = -fy - 9.81;
        f[8] = y[0] * y[0] + y[1] * y[1] - 1.0;
    }));
    all.back().mass = ones(8);
    all.back().index[0] = 4;
    all.back().index[1] = 4;
    all.back().index[2] = 1;
    all.back().back = [](const Vector &y) { return Vector{y[0], y[1], y[4], y[5], y[2], y[3], y[6], y[7]}; };
    return all;
}

inline double seconds_now() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

// Runs a problem at all tolerances, a line of JSON for each: the shortest time of processor and the values of the model's unknowns.
template <class Solve> void scan(const Stiff &problem, const char *tool, const char *version, Solve solve) {
    for (int k = 4; k <= 26; k++) {
        const double tolerance = std::pow(10.0, -k / 2.0), begin = seconds_now();
        double best = 1e300;
        std::string failure;
        Vector y;
        for (int repeat = 0; repeat < 200 && failure.empty() && (repeat < 3 || seconds_now() - begin < 0.1); repeat++) {
            const double start = seconds_now();
            failure = solve(problem, tolerance, y);
            best = std::fmin(best, seconds_now() - start);
            if (best > 0.3) break;
        }
        const bool is_solved = failure.empty();
        std::printf("{\"problem\": \"%s\", \"end\": %.17g, \"tool\": \"%s\", \"version\": \"%s\", \"form\": \"%s\", \"tolerance\": %.17g, "
                    "\"solve\": %.9g, \"success\": %s, \"message\": \"%s\", \"values\": [",
                    problem.name.c_str(), problem.end, tool, version, problem.form.c_str(), tolerance, best,
                    is_solved ? "true" : "false", failure.c_str());
        const Vector values = is_solved ? problem.back(y) : Vector();
        for (size_t i = 0; i < values.size(); i++) {
            std::printf(i ? ", " : "");
            std::isfinite(values[i]) ? std::printf("%.17g", values[i]) : std::printf("null");
        }
        std::printf("]}\n");
        std::fflush(stdout);
        // Finer tolerances take longer still.
        if (best > 4) break;
    }
}

// The times at which legs end: where f jumps, and at the end.
inline Vector legs(const Stiff &problem) {
    Vector ends = problem.jumps;
    ends.push_back(problem.end);
    return ends;
}
