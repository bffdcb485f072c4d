// CVODE and IDA of Debian's SUNDIALS on the stiff problems: ordinary differential equations by CVODE, those of index 1 by IDA.
// Jacobians are their own differences, banded where the equations are.
#include "stiff_problems.hpp"
#include <cvode/cvode.h>
#include <ida/ida.h>
#include <nvector/nvector_serial.h>
#include <sundials/sundials_config.h>
#include <sunlinsol/sunlinsol_band.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_band.h>
#include <sunmatrix/sunmatrix_dense.h>

static SUNContext context;

static int right(realtype t, N_Vector y, N_Vector f, void *problem) {
    static_cast<const Stiff *>(problem)->right(t, N_VGetArrayPointer(y), N_VGetArrayPointer(f));
    return 0;
}

static int residual(realtype t, N_Vector y, N_Vector yp, N_Vector r, void *data) {
    const Stiff &problem = *static_cast<const Stiff *>(data);
    double *out = N_VGetArrayPointer(r);
    problem.right(t, N_VGetArrayPointer(y), out);
    for (size_t i = 0; i < problem.start.size(); i++) out[i] = -out[i];
    for (const Entry &entry : problem.mass) out[entry.row] += entry.value * N_VGetArrayPointer(yp)[entry.column];
    return 0;
}

static void quiet(int, const char *, const char *, char *, void *) {}

// Derivatives at the start of an index-1 problem.
static Vector rates(const Stiff &problem) {
    if (problem.name == "TransistorAmplifier")
        return {51.338775, 51.338775, -166.66666666666666, -24.9757667, -24.9757667, -83.33333333333333, -10.00564453, -10.00564453};
    Vector f(problem.start.size(), 0.0);
    problem.right(0, problem.start.data(), f.data());
    f[5] = 115.83 * (f[0] * problem.start[3] + problem.start[0] * f[3]);
    return f;
}

static std::string solve(const Stiff &problem, double tolerance, Vector &values) {
    const int n = problem.start.size();
    N_Vector y = N_VNew_Serial(n, context), atol = N_VClone(y), yp = N_VClone(y);
    for (int i = 0; i < n; i++) {
        N_VGetArrayPointer(y)[i] = problem.start[i];
        N_VGetArrayPointer(atol)[i] = tolerance * problem.nominal[i];
    }
    const int b = problem.band;
    SUNMatrix matrix = b ? SUNBandMatrix(n, b, b, context) : SUNDenseMatrix(n, n, context);
    SUNLinearSolver solver = b ? SUNLinSol_Band(y, matrix, context) : SUNLinSol_Dense(y, matrix, context);
    void *data = const_cast<Stiff *>(&problem), *memory;
    int flag = 0;
    double t = 0;
    if (problem.mass.empty()) {
        memory = CVodeCreate(CV_BDF, context);
        CVodeInit(memory, right, 0.0, y);
        CVodeSetErrHandlerFn(memory, quiet, nullptr);
        CVodeSVtolerances(memory, tolerance, atol);
        CVodeSetUserData(memory, data);
        CVodeSetLinearSolver(memory, solver, matrix);
        CVodeSetMaxNumSteps(memory, 2000000);
        for (double end : legs(problem)) {
            if (t > 0) CVodeReInit(memory, t = std::nextafter(t, end), y);
            CVodeSetStopTime(memory, end);
            flag = CVode(memory, end, y, &t, CV_NORMAL);
            if (flag < 0) break;
        }
        CVodeFree(&memory);
    } else {
        const Vector start = rates(problem);
        for (int i = 0; i < n; i++) N_VGetArrayPointer(yp)[i] = start[i];
        memory = IDACreate(context);
        IDAInit(memory, residual, 0.0, y, yp);
        IDASetErrHandlerFn(memory, quiet, nullptr);
        IDASVtolerances(memory, tolerance, atol);
        IDASetUserData(memory, data);
        IDASetLinearSolver(memory, solver, matrix);
        IDASetMaxNumSteps(memory, 2000000);
        IDASetStopTime(memory, problem.end);
        flag = IDASolve(memory, problem.end, &t, y, yp, IDA_NORMAL);
        IDAFree(&memory);
    }
    values.assign(N_VGetArrayPointer(y), N_VGetArrayPointer(y) + n);
    SUNLinSolFree(solver);
    SUNMatDestroy(matrix);
    for (N_Vector vector : {y, yp, atol}) N_VDestroy(vector);
    return flag < 0 ? "returns " + std::to_string(flag) : "";
}

int main(int n, char **arguments) {
    SUNContext_Create(nullptr, &context);
    for (const Stiff &problem : stiff_problems())
        if (problem.index[1] == 0 && (n < 2 || problem.name == arguments[1]))
            scan(problem, problem.mass.empty() ? "CVODE" : "IDA", SUNDIALS_VERSION, solve);
}
