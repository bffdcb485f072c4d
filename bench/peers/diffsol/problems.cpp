// The stiff problems for a caller that is not C++.
#include "../stiff_problems.hpp"
#include <algorithm>

static const std::vector<Stiff> &all() {
    static const std::vector<Stiff> problems = stiff_problems();
    return problems;
}

extern "C" {
int stiff_count() { return all().size(); }
int stiff_size(int i) { return all()[i].start.size(); }
int stiff_band(int i) { return all()[i].band; }
int stiff_index(int i) { return all()[i].index[2] ? 3 : all()[i].index[1] ? 2 : 1; }
double stiff_end(int i) { return all()[i].end; }
double stiff_jump(int i) { return all()[i].jumps.empty() ? -1.0 : all()[i].jumps[0]; }
const char *stiff_name(int i) { return all()[i].name.c_str(); }
const char *stiff_form(int i) { return all()[i].form.c_str(); }
int stiff_has_mass(int i) { return !all()[i].mass.empty(); }
void stiff_start(int i, double *y) { std::copy(all()[i].start.begin(), all()[i].start.end(), y); }
void stiff_nominal(int i, double *y) { std::copy(all()[i].nominal.begin(), all()[i].nominal.end(), y); }
void stiff_right(int i, double t, const double *y, double *f) { all()[i].right(t, y, f); }
void stiff_along(int i, double t, const double *y, const double *v, double *f) {
    const size_t n = all()[i].start.size();
    static thread_local std::vector<Dual> at, out;
    at.resize(n);
    out.resize(n);
    for (size_t j = 0; j < n; j++) at[j] = Dual(y[j], v[j]);
    all()[i].right_dual(t, at.data(), out.data());
    for (size_t j = 0; j < n; j++) f[j] = out[j].d;
}
// y = M v + beta y.
void stiff_mass(int i, const double *v, double beta, double *y) {
    const size_t n = all()[i].start.size();
    for (size_t j = 0; j < n; j++) y[j] *= beta;
    for (const Entry &entry : all()[i].mass) y[entry.row] += entry.value * v[entry.column];
}
int stiff_back(int i, const double *y, double *out) {
    const Vector values = all()[i].back(Vector(y, y + all()[i].start.size()));
    std::copy(values.begin(), values.end(), out);
    return values.size();
}
}
