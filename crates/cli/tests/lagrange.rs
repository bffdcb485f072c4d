//! `lagrange` against a second derivation: energies written again in Rust, differentiated twice by
//! hyper-dual numbers (Fike and Alonso, 2011), without any symbolic step.

use crate::common::{Point, Random, built_in, model_of, model_with};
use daelight_lang::Model;
use std::ops::{Add, Mul, Neg, Sub};

/// a + b e1 + c e2 + d e1 e2 with e1^2 = e2^2 = 0: carries a mixed second derivative exactly.
#[derive(Clone, Copy, Debug, Default)]
struct Dual {
    a: f64,
    b: f64,
    c: f64,
    d: f64,
}

fn lift(a: f64) -> Dual {
    Dual {
        a,
        ..Dual::default()
    }
}

impl Add for Dual {
    type Output = Dual;
    fn add(self, o: Dual) -> Dual {
        Dual {
            a: self.a + o.a,
            b: self.b + o.b,
            c: self.c + o.c,
            d: self.d + o.d,
        }
    }
}
impl Sub for Dual {
    type Output = Dual;
    fn sub(self, o: Dual) -> Dual {
        self + -o
    }
}
impl Neg for Dual {
    type Output = Dual;
    fn neg(self) -> Dual {
        Dual {
            a: -self.a,
            b: -self.b,
            c: -self.c,
            d: -self.d,
        }
    }
}
impl Mul for Dual {
    type Output = Dual;
    fn mul(self, o: Dual) -> Dual {
        Dual {
            a: self.a * o.a,
            b: self.a * o.b + self.b * o.a,
            c: self.a * o.c + self.c * o.a,
            d: self.a * o.d + self.d * o.a + self.b * o.c + self.c * o.b,
        }
    }
}
impl Mul<Dual> for f64 {
    type Output = Dual;
    fn mul(self, o: Dual) -> Dual {
        lift(self) * o
    }
}
impl Dual {
    fn chain(self, f: f64, f1: f64, f2: f64) -> Dual {
        Dual {
            a: f,
            b: f1 * self.b,
            c: f1 * self.c,
            d: f1 * self.d + f2 * self.b * self.c,
        }
    }
    fn sin(self) -> Dual {
        self.chain(self.a.sin(), self.a.cos(), -self.a.sin())
    }
    fn cos(self) -> Dual {
        self.chain(self.a.cos(), -self.a.sin(), -self.a.cos())
    }
    fn sqrt(self) -> Dual {
        let s = self.a.sqrt();
        self.chain(s, 0.5 / s, -0.25 / (s * self.a))
    }
}

/// L(q, q', t) with multipliers and parameters as plain numbers inside the closure.
type Lagrangian<'a> = &'a dyn Fn(&[Dual], &[Dual], Dual) -> Dual;

/// d/dt(dL/dq') - dL/dq at a point: second derivatives times velocities and accelerations.
fn euler_lagrange(l: Lagrangian, q: &[f64], v: &[f64], a: &[f64], t: f64) -> Vec<f64> {
    let n = q.len();
    // Directions: 0..n positions, n..2n velocities, 2n time.
    let mixed = |i: usize, j: usize| {
        let seed = |value: f64, k: usize| Dual {
            a: value,
            b: f64::from(u8::from(k == i)),
            c: f64::from(u8::from(k == j)),
            d: 0.0,
        };
        let qs: Vec<Dual> = (0..n).map(|k| seed(q[k], k)).collect();
        let vs: Vec<Dual> = (0..n).map(|k| seed(v[k], n + k)).collect();
        l(&qs, &vs, seed(t, 2 * n))
    };
    (0..n)
        .map(|i| {
            let momentum = n + i;
            let mut rate = mixed(momentum, 2 * n).d;
            for k in 0..n {
                rate += mixed(momentum, k).d * v[k] + mixed(momentum, n + k).d * a[k];
            }
            rate - mixed(i, i).b
        })
        .collect()
}

/// Compares the expansion of `model` with the second derivation at random points.
fn check(
    name: &str,
    model: &Model,
    coordinates: &[&str],
    lagrangian: impl Fn(&Point, &[Dual], &[Dual], Dual) -> Dual,
    forces: impl Fn(&Point) -> Vec<f64>,
) {
    let mut random = Random(42);
    for _ in 0..20 {
        let mut point = Point::random(model, &mut random);
        for coordinate in coordinates {
            // Velocity unknowns are the derivatives of their coordinates.
            let velocity = format!("der({coordinate})");
            let value = point.values[&(velocity, 0)];
            point.set(coordinate, 1, value);
        }
        let get = |order: u32| -> Vec<f64> {
            let name = |c: &&str| {
                if order == 0 {
                    c.to_string()
                } else {
                    format!("der({c})")
                }
            };
            let level = |c: &&str| point.values[&(name(c), order.saturating_sub(1))];
            coordinates.iter().map(level).collect()
        };
        let (q, v, a) = (get(0), get(1), get(2));
        let l = |q: &[Dual], v: &[Dual], t: Dual| lagrangian(&point, q, v, t);
        let expected = euler_lagrange(&l, &q, &v, &a, point.time);
        let forces = forces(&point);
        for (k, coordinate) in coordinates.iter().enumerate() {
            let equation = model
                .equations
                .iter()
                .find(|equation| {
                    matches!(&equation.origin, daelight_lang::Origin::EulerLagrange { coordinate: c }
                        if model.unknowns[*c].name == *coordinate)
                })
                .unwrap_or_else(|| panic!("{name}: no equation of motion for {coordinate}"));
            let residual = point
                .value(model, equation.residual)
                .expect("all values are given");
            let reference = expected[k] - forces[k];
            assert!(
                (residual - reference).abs() <= 1e-11 * (1.0 + reference.abs()),
                "{name}, {coordinate}: {residual} against {reference}"
            );
        }
    }
}

fn no_forces(n: usize) -> impl Fn(&Point) -> Vec<f64> {
    move |_| vec![0.0; n]
}

fn at(point: &Point, name: &str) -> f64 {
    point.values[&(name.to_string(), 0)]
}

#[test]
fn spring_mass() {
    let model = model_of("spring-mass", built_in("spring-mass"));
    check(
        "spring-mass",
        &model,
        &["x"],
        |_, q, v, _| 0.5 * 2.0 * (v[0] * v[0]) - 0.5 * 8.0 * (q[0] * q[0]),
        no_forces(1),
    );
}

#[test]
fn cart_pendulum() {
    let model = model_of("cart-pendulum", built_in("cart-pendulum"));
    let (m, mm, l, g) = (1.0, 0.5, 0.8, 9.81);
    check(
        "cart-pendulum",
        &model,
        &["x", "theta"],
        |_, q, v, _| {
            0.5 * (m + mm) * (v[0] * v[0]) + 0.5 * mm * l * l * (v[1] * v[1])
                - l * mm * (v[1] * v[0] * q[1].sin())
                - mm * g * l * q[1].cos()
        },
        no_forces(2),
    );
}

#[test]
fn pendulum_3d_with_wind() {
    let model = model_of("pendulum-3d", built_in("pendulum-3d"));
    check(
        "pendulum-3d",
        &model,
        &["p[1]", "p[2]", "p[3]"],
        |point, q, v, _| {
            let z = at(point, "z");
            0.5 * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
                - 9.81 * q[2]
                - 0.5 * z * (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] - lift(1.0))
        },
        |_| vec![0.5, -0.3, 0.2],
    );
}

#[test]
fn delta_robot_with_both_signs() {
    let (rod, arm, d, m, mm, j, g) = (0.5, 0.3, 0.15, 0.4, 0.2, 0.05, 9.81);
    for sign in [1.0, -1.0] {
        let set = format!("sgn={sign}");
        let model = model_with("delta-robot", built_in("delta-robot"), &[&set]);
        check(
            "delta-robot",
            &model,
            &["p[1]", "p[2]", "p[3]", "alpha[1]", "alpha[2]", "alpha[3]"],
            |point, q, v, _| {
                let mut l = 0.5 * m * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) - m * g * q[2];
                for k in 0..3 {
                    let angle = 2.0 * std::f64::consts::PI * k as f64 / 3.0;
                    let alpha = q[3 + k];
                    let radius = lift(d) + arm * alpha.cos();
                    let x = q[0] - angle.cos() * radius;
                    let y = q[1] - angle.sin() * radius;
                    let z = q[2] + arm * alpha.sin();
                    let c = x * x + y * y + z * z - lift(rod * rod);
                    l = l + 0.5 * j * (v[3 + k] * v[3 + k])
                        - 0.5 * sign * mm * g * arm * alpha.sin()
                        - at(point, &format!("z[{}]", k + 1)) * c;
                }
                l
            },
            no_forces(6),
        );
    }
}

/// A chain of declared variables, a rheonomic constraint, a force at a point, a potential that
/// depends on velocity: none of it is in the library.
#[test]
fn energies_through_declared_variables() {
    let text = "model Swing \"a pendulum on a driven, spring-loaded slider\"
      parameter Real m = 1.3, k = 2.5, L = 0.9, B = 0.4, f[2] = {0.3, -0.7};
      Real s, phi, z;
      Real bob[2] = {s + L*sin(phi), -L*cos(phi)};
      Real speed2 = der(bob)*der(bob);
      Real T = 0.5*m*speed2 + 0.2*der(s)^2;
      Real V = 0.5*k*s^2 + m*9.81*bob[2] + B*der(s)*sqrt(1 + phi^2);
    equation
      lagrange(T, V, {s, phi}, {s - 0.2*sin(time)*phi}, {z}, virtualWork(f, bob) + {0, -0.1*der(phi)});
    end Swing;";
    let model = model_of("swing", text);
    let (m, k, l, b, f) = (1.3, 2.5, 0.9, 0.4, [0.3, -0.7]);
    check(
        "swing",
        &model,
        &["s", "phi"],
        |point, q, v, t| {
            let vx = v[0] + l * (q[1].cos() * v[1]);
            let vy = l * (q[1].sin() * v[1]);
            let kinetic = 0.5 * m * (vx * vx + vy * vy) + 0.2 * (v[0] * v[0]);
            let height = -(l * q[1].cos());
            let root = (lift(1.0) + q[1] * q[1]).sqrt();
            let potential = 0.5 * k * (q[0] * q[0]) + m * 9.81 * height + b * (v[0] * root);
            kinetic - potential - at(point, "z") * (q[0] - 0.2 * (t.sin() * q[1]))
        },
        |point| {
            let phi = at(point, "phi");
            let rate = at(point, "der(phi)");
            vec![
                f[0],
                f[0] * l * phi.cos() + f[1] * l * phi.sin() - 0.1 * rate,
            ]
        },
    );
}
