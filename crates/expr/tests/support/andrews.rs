//! Andrews' squeezing mechanism: 7 angles, 6 multipliers, as in Hairer and Wanner (1996), VI.9.
//!
//! The residuals are M(q) q'' - f(q, q') + G' lambda and the constraints g(q). Unknowns 0..7 are the
//! angles, 7..13 the multipliers; the numbers are those of the book.

use daelight_expr::{ExprId, Graph, Slot, SymbolId, UnaryOp};

pub const N_UNKNOWNS: usize = 13;

/// Initial angles of the book.
pub const ANGLES: [f64; 7] = [
    -0.061_713_890_014_276_45,
    0.0,
    0.455_279_819_163_070_37,
    0.222_668_390_165_885_88,
    0.487_364_979_543_842_56,
    -0.222_668_390_165_885_88,
    1.230_547_444_549_821_2,
];

pub fn slot(symbol: SymbolId) -> Slot {
    match symbol.0 {
        index @ 0..13 => Slot::Variable { index, order: 0 },
        index => Slot::Variable {
            index: index % 13,
            order: index / 13,
        },
    }
}

/// A small calculator on the graph.
struct Build<'a>(&'a mut Graph);

impl Build<'_> {
    fn number(&mut self, value: f64) -> ExprId {
        self.0.constant(value)
    }
    fn times(&mut self, factor: f64, x: ExprId) -> ExprId {
        let factor = self.number(factor);
        self.0.mul(factor, x)
    }
    fn plus(&mut self, number: f64, x: ExprId) -> ExprId {
        let number = self.number(number);
        self.0.add(number, x)
    }
    fn combination(&mut self, terms: &[(f64, ExprId)]) -> ExprId {
        let terms: Vec<ExprId> = terms.iter().map(|&(c, x)| self.times(c, x)).collect();
        self.0.sum(terms)
    }
    fn sin(&mut self, x: ExprId) -> ExprId {
        self.0.unary(UnaryOp::Sin, x)
    }
    fn cos(&mut self, x: ExprId) -> ExprId {
        self.0.unary(UnaryOp::Cos, x)
    }
}

/// The 13 residuals, equations of motion first.
pub fn residuals(graph: &mut Graph) -> Vec<ExprId> {
    let [m1, m2, m3, m4, m5, m6, m7] = [
        0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498,
    ];
    let [i1, i2, i3, i4, i5, i6, i7] = [
        2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5,
    ];
    let (xa, ya, xb, yb, xc, yc) = (-0.06934, -0.00227, -0.03635, 0.03273, 0.014, 0.072);
    let (d, da, e, ea, rr, ra) = (28e-3, 115e-4, 2e-2, 1421e-5, 7e-3, 92e-5);
    let (ss, sa, sb, sc, sd, ta, tb) = (35e-3, 1874e-5, 1043e-5, 18e-3, 2e-2, 2308e-5, 916e-5);
    let (u, ua, ub, zf, zt, fa) = (4e-2, 1228e-5, 449e-5, 2e-2, 4e-2, 1421e-5);
    let (c0, l0, moment) = (4530.0, 0.07785, 0.033);

    let q: Vec<ExprId> = (0..7).map(|i| graph.symbol(SymbolId(i))).collect();
    let v: Vec<ExprId> = (13..20).map(|i| graph.symbol(SymbolId(i))).collect();
    let w: Vec<ExprId> = (26..33).map(|i| graph.symbol(SymbolId(i))).collect();
    let multipliers: Vec<ExprId> = (7..13).map(|i| graph.symbol(SymbolId(i))).collect();
    let mut b = Build(graph);
    let [beta, theta, gamma, phi, delta, omega, epsilon] =
        [q[0], q[1], q[2], q[3], q[4], q[5], q[6]];
    let (cos_theta, sin_theta) = (b.cos(theta), b.sin(theta));
    let (cos_phi, sin_phi) = (b.cos(phi), b.sin(phi));
    let (cos_omega, sin_omega) = (b.cos(omega), b.sin(omega));
    let (cos_gamma, sin_gamma) = (b.cos(gamma), b.sin(gamma));

    // Masses.
    let part = b.times(-2.0 * m2 * da * rr, cos_theta);
    let m11 = b.plus(m1 * ra * ra + m2 * (rr * rr + da * da) + i1 + i2, part);
    let part = b.times(-m2 * da * rr, cos_theta);
    let m21 = b.plus(m2 * da * da + i2, part);
    let m22 = m2 * da * da + i2;
    let m33 = m3 * (sa * sa + sb * sb) + i3;
    let x = e - ea;
    let m44 = m4 * x * x + i4;
    let part = b.times(m4 * zt * x, sin_phi);
    let m54 = b.plus(m4 * x * x + i4, part);
    let part = b.times(2.0 * m4 * zt * x, sin_phi);
    let m55 = b.plus(
        m4 * (zt * zt + x * x) + m5 * (ta * ta + tb * tb) + i4 + i5,
        part,
    );
    let z = zf - fa;
    let m66 = m6 * z * z + i6;
    let part = b.times(-m6 * u * z, sin_omega);
    let m76 = b.plus(m6 * z * z + i6, part);
    let part = b.times(-2.0 * m6 * u * z, sin_omega);
    let m77 = b.plus(
        m6 * (z * z + u * u) + m7 * (ua * ua + ub * ub) + i6 + i7,
        part,
    );

    // Forces.
    let xd = b.combination(&[(sd, cos_gamma), (sc, sin_gamma)]);
    let dx = b.plus(xb - xc, xd);
    let yd = b.combination(&[(sd, sin_gamma), (-sc, cos_gamma)]);
    let dy = b.plus(yb - yc, yd);
    let squares = [b.0.mul(dx, dx), b.0.mul(dy, dy)];
    let squared = b.0.sum(squares);
    let length = b.0.unary(UnaryOp::Sqrt, squared);
    let stretch = b.plus(-l0, length);
    let pull = b.times(-c0, stretch);
    let force = b.0.div(pull, length);
    let (fx, fy) = (b.0.mul(force, dx), b.0.mul(force, dy));
    let swing = |b: &mut Build, inner: usize, outer: usize, factor: f64, shape: ExprId| {
        let twice = b.times(2.0, v[outer]);
        let sum = b.0.add(v[inner], twice);
        let rates = b.0.mul(v[inner], sum);
        let product = b.0.mul(rates, shape);
        b.times(factor, product)
    };
    let spin = |b: &mut Build, which: usize, factor: f64, shape: ExprId| {
        let square = b.0.mul(v[which], v[which]);
        let product = b.0.mul(square, shape);
        b.times(factor, product)
    };
    let turn = swing(&mut b, 1, 0, -m2 * da * rr, sin_theta);
    let f1 = b.plus(moment, turn);
    let f2 = spin(&mut b, 0, m2 * da * rr, sin_theta);
    let lever_x = b.combination(&[(sc, cos_gamma), (-sd, sin_gamma)]);
    let (part_x, part_y) = (b.0.mul(fx, lever_x), b.0.mul(fy, xd));
    let f3 = b.0.add(part_x, part_y);
    let f4 = spin(&mut b, 4, m4 * zt * x, cos_phi);
    let f5 = swing(&mut b, 3, 4, -m4 * zt * x, cos_phi);
    let f6 = spin(&mut b, 6, -m6 * u * z, cos_omega);
    let f7 = swing(&mut b, 5, 6, m6 * u * z, cos_omega);

    // Constraints.
    let sum = b.0.add(beta, theta);
    let (cos_sum, sin_sum) = (b.cos(sum), b.sin(sum));
    let (cos_beta, sin_beta) = (b.cos(beta), b.sin(beta));
    let tip_x = b.combination(&[(rr, cos_beta), (-d, cos_sum)]);
    let tip_y = b.combination(&[(rr, sin_beta), (-d, sin_sum)]);
    let phi_delta = b.0.add(phi, delta);
    let omega_epsilon = b.0.add(omega, epsilon);
    let arms = [
        [
            (-ss, sin_gamma, 0.0, sin_gamma),
            (ss, cos_gamma, 0.0, cos_gamma),
        ],
        [
            (-e, b.sin(phi_delta), -zt, b.cos(delta)),
            (e, b.cos(phi_delta), -zt, b.sin(delta)),
        ],
        [
            (-zf, b.cos(omega_epsilon), -u, b.sin(epsilon)),
            (-zf, b.sin(omega_epsilon), u, b.cos(epsilon)),
        ],
    ];
    let mut constraints = Vec::new();
    for (arm, anchor) in arms.into_iter().zip([[xb, yb], [xa, ya], [xa, ya]]) {
        for (axis, (c1, x1, c2, x2)) in arm.into_iter().enumerate() {
            let part = if c2 == 0.0 {
                b.times(c1, x1)
            } else {
                b.combination(&[(c1, x1), (c2, x2)])
            };
            let whole = b.0.add([tip_x, tip_y][axis], part);
            constraints.push(b.plus(-anchor[axis], whole));
        }
    }

    // M q'' - f + G' lambda.
    let inertia = [
        [b.0.mul(m11, w[0]), b.0.mul(m21, w[1])],
        [b.0.mul(m21, w[0]), b.times(m22, w[1])],
        [b.times(m33, w[2]), b.number(0.0)],
        [b.times(m44, w[3]), b.0.mul(m54, w[4])],
        [b.0.mul(m54, w[3]), b.0.mul(m55, w[4])],
        [b.times(m66, w[5]), b.0.mul(m76, w[6])],
        [b.0.mul(m76, w[5]), b.0.mul(m77, w[6])],
    ];
    let forces = [f1, f2, f3, f4, f5, f6, f7];
    let symbols: Vec<SymbolId> = (0..7).map(SymbolId).collect();
    let gradients: Vec<Vec<ExprId>> = constraints
        .iter()
        .map(|&constraint| b.0.gradient(constraint, &symbols))
        .collect();
    let mut residuals = Vec::new();
    for row in 0..7 {
        let sum = b.0.sum(inertia[row]);
        let mut sum = b.0.sub(sum, forces[row]);
        for (gradient, &multiplier) in gradients.iter().zip(&multipliers) {
            let term = b.0.mul(gradient[row], multiplier);
            sum = b.0.add(sum, term);
        }
        residuals.push(sum);
    }
    residuals.extend(constraints);
    residuals
}
