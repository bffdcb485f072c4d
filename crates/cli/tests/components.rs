//! The library of components: every example against a closed form or a second method.

use daelight::SolveOptions;
use daelight_integrate::StopReason;
use std::collections::HashMap;
use std::f64::consts::PI;

type Values = HashMap<String, f64>;

/// Values of a model at times; the run must reach the last one.
fn run(model: &str, times: &[f64]) -> Vec<Values> {
    let loaded = daelight::load(model, &Default::default()).expect("an example");
    assert!(
        loaded.diagnostics.is_empty(),
        "{model}: {:?}",
        loaded.diagnostics
    );
    let system = daelight::system(loaded.model.as_ref().expect("a model")).expect("a system");
    let options = SolveOptions {
        to: times.last().copied(),
        rtol: Some(1e-9),
        ..Default::default()
    };
    let solution = daelight::solve(&system, &options);
    let solution = solution.unwrap_or_else(|_| panic!("{model} has no run"));
    assert_eq!(solution.run.stop, StopReason::Finished, "{model}");
    let mut reader = solution.reader(&system);
    let names: Vec<&String> = system.unknowns().iter().map(|u| &u.name).collect();
    let mut row = |&time: &f64| {
        let values = reader.values(time).expect("values").expect("inside");
        names
            .iter()
            .map(|name| name.to_string())
            .zip(values)
            .collect()
    };
    times.iter().map(&mut row).collect()
}

/// The same for a text.
fn of_text(text: &str, times: &[f64]) -> Vec<Values> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("model.mo");
    std::fs::write(&path, text).expect("a file");
    run(path.to_str().expect("a path"), times)
}

/// Asserts that named values of an example are functions of time.
fn check(model: &str, times: &[f64], truth: &[(&str, &dyn Fn(f64) -> f64)]) {
    let model = format!("Parts.{model}");
    for (values, &time) in run(&model, times).iter().zip(times) {
        for (name, exact) in truth {
            let (found, exact) = (values[*name], exact(time));
            let error = (found - exact).abs() / exact.abs().max(1.0);
            assert!(
                error < 1e-6,
                "{model}, t = {time}: {name} = {found}, not {exact}"
            );
        }
    }
}

/// The classical method of Runge and Kutta with many small steps: values at a time, from time 0.
fn by_small_steps<const N: usize>(
    rate: impl Fn(f64, [f64; N]) -> [f64; N],
    start: [f64; N],
    time: f64,
    n_steps: usize,
) -> [f64; N] {
    let h = time / n_steps as f64;
    let ahead = |x: [f64; N], k: [f64; N], h: f64| std::array::from_fn(|i| x[i] + h * k[i]);
    let mut x = start;
    for step in 0..n_steps {
        let t = step as f64 * h;
        let k1 = rate(t, x);
        let k2 = rate(t + h / 2.0, ahead(x, k1, h / 2.0));
        let k3 = rate(t + h / 2.0, ahead(x, k2, h / 2.0));
        let k4 = rate(t + h, ahead(x, k3, h));
        x = std::array::from_fn(|i| x[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]));
    }
    x
}

#[test]
fn circuits_follow_their_closed_forms() {
    check(
        "Electrical.Examples.LowPass",
        &[0.03, 0.1, 0.5],
        &[("c.v", &|t| 10.0 * (1.0 - (-t / 0.1).exp()))],
    );
    let (d, w) = (0.2, 3.96f64.sqrt());
    check(
        "Electrical.Examples.SeriesResonance",
        &[0.7, 3.0, 10.0],
        &[
            ("c.v", &|t| {
                1.0 - (-d * t).exp() * ((w * t).cos() + d / w * (w * t).sin())
            }),
            ("l.i", &|t| (-d * t).exp() * (w * t).sin() / w),
        ],
    );
    check(
        "Electrical.Examples.CapacitorLoop",
        &[0.0, 2.0, 10.0],
        &[
            ("c2.v", &|t| 6.0 * (-t / 6.0).exp()),
            ("c1.i", &|t| -(-t / 6.0).exp()),
            ("c2.i", &|t| -2.0 * (-t / 6.0).exp()),
        ],
    );
    let current = |t: f64| 0.5 * ((2.0 * t).sin() - (2.0 * t).cos() + (-2.0 * t).exp());
    let rate = |t: f64| (2.0 * t).cos() + (2.0 * t).sin() - (-2.0 * t).exp();
    check(
        "Electrical.Examples.InductorCut",
        &[0.4, 2.0, 5.0],
        &[
            ("l2.i", &current),
            ("l1.v", &rate),
            ("l2.v", &|t| rate(t) / 2.0),
        ],
    );
    check(
        "Electrical.Examples.MatchedLoad",
        &[0.3, 3.0],
        &[("load.v", &|t| (5.0 * t).sin() / 2.0)],
    );
    check(
        "Electrical.Examples.AnalogIntegrator",
        &[0.9, 4.0],
        &[("amplifier.out.v", &|t| ((3.0 * t).cos() - 1.0) / 3.0)],
    );
    check(
        "Electrical.Examples.Differentiator",
        &[0.9, 4.0],
        &[("amplifier.out.v", &|t| -3.0 * (3.0 * t).cos())],
    );
}

#[test]
fn diodes_pass_one_half_of_a_wave() {
    let current = |t: f64| {
        let v = 10.0 * (2.0 * PI * t).sin();
        v / (100.0 + if v > 0.0 { 1e-5 } else { 1e5 })
    };
    check(
        "Electrical.Examples.Rectifier",
        &[0.1, 0.3, 0.7, 0.9, 1.2, 1.8],
        &[("load.i", &current)],
    );
    let charge = |t: f64, [v]: [f64; 1]| {
        let u = 10.0 * (2.0 * PI * t).sin() - v;
        let i = 1e-12 * ((u / 0.026).exp() - 1.0) + 1e-9 * u;
        [(i - v / 100.0) / 0.02]
    };
    check(
        "Electrical.Examples.SmoothedRectifier",
        &[0.15, 0.6, 1.2],
        &[("c.v", &|t| by_small_steps(charge, [0.0], t, 40_000)[0])],
    );
}

#[test]
fn masses_and_shafts_follow_their_closed_forms() {
    let w = 9.96f64.sqrt();
    check(
        "Translational.Examples.Oscillator",
        &[1.0, 10.0],
        &[("mass.s", &|t| {
            0.5 + 0.5 * (-0.2 * t).exp() * ((w * t).cos() + 0.2 / w * (w * t).sin())
        })],
    );
    check(
        "Translational.Examples.CoupledMasses",
        &[1.0, 5.0],
        &[
            ("m2.s", &|t| 1.7 + 0.5 * (2.0 * t).cos()),
            ("m2.a.f", &|t| -4.0 * (2.0 * t).cos()),
        ],
    );
    check(
        "Translational.Examples.SlidingBlock",
        &[0.5, 1.9, 3.0],
        &[
            ("crate.s", &|t| if t < 2.0 { 4.0 * t - t * t } else { 4.0 }),
            ("crate.v", &|t| if t < 2.0 { 4.0 - 2.0 * t } else { 0.0 }),
        ],
    );
    check(
        "Rotational.Examples.GearTrain",
        &[0.5, 2.0],
        &[("slow.phi", &|t| 0.75 * t * t), ("gear.a.tau", &|_| 3.0)],
    );
    let w = 27f64.sqrt();
    check(
        "Rotational.Examples.Torsion",
        &[0.5, 5.0],
        &[
            ("left.phi", &|t| t + 2.0 / w * (w * t).sin()),
            ("right.phi", &|t| t - 1.0 / w * (w * t).sin()),
        ],
    );
    check(
        "Rotational.Examples.TorqueForPath",
        &[0.5, 4.0],
        &[("load.a.tau", &|t| {
            0.6 * (3.0 * t).cos() - 7.2 * (3.0 * t).sin()
        })],
    );
    check(
        "Rotational.Examples.RackDrive",
        &[0.5, 2.0],
        &[("load.s", &|t| 0.625 * t * t), ("load.a.f", &|_| 5.0)],
    );
}

#[test]
fn heat_follows_its_closed_forms() {
    check(
        "Thermal.Examples.TwoBodies",
        &[5.0, 60.0],
        &[
            ("hot.T", &|t| 298.15 + 75.0 * (-0.05 * t).exp()),
            ("cold.T", &|t| 298.15 - 25.0 * (-0.05 * t).exp()),
        ],
    );
    // The first mode of N equal cells between closed ends.
    let rate = 4.0 * 0.4 * (PI / 16.0).sin().powi(2);
    check(
        "Thermal.Examples.Wall",
        &[3.0, 20.0],
        &[
            ("cell[1].T", &|t| {
                300.0 + 20.0 * (PI / 16.0).cos() * (-rate * t).exp()
            }),
            ("cell[6].T", &|t| {
                300.0 + 20.0 * (11.0 * PI / 16.0).cos() * (-rate * t).exp()
            }),
        ],
    );
    let k = 3.0 * 0.3 * 5.670374419e-8 / 900.0;
    check(
        "Thermal.Examples.RadiantBody",
        &[10.0, 100.0],
        &[("body.T", &|t| (1e-9 + k * t).powf(-1.0 / 3.0))],
    );
    check(
        "Examples.Boiler",
        &[100.0, 600.0],
        &[("water.T", &|t| 293.15 + 100.0 * (1.0 - (-t / 200.0).exp()))],
    );
}

#[test]
fn bodies_in_a_plane_move_as_second_methods_say() {
    let swing =
        |_: f64, [phi, w]: [f64; 2]| [w, -2.0 * 9.81 * 1.2 * phi.sin() / (2.0 * 1.44 + 0.05)];
    let angle = |t: f64| by_small_steps(swing, [0.3, 0.0], t, 20_000)[0];
    check(
        "Planar.Examples.Pendulum",
        &[0.4, 3.0],
        &[
            ("pin.phi", &angle),
            ("bob.frame.x", &|t| 1.2 * angle(t).sin()),
        ],
    );
    let w = 5f64.sqrt();
    check(
        "Planar.Examples.SpringBall",
        &[0.4, 5.0],
        &[
            ("ball.frame.x", &|t| 0.2 * (w * t).cos()),
            ("ball.frame.y", &|t| (w * t).sin() / w),
        ],
    );
    let lagrangian = "model Two
        Real a(start = 1, fixed = true), b(start = 0.5, fixed = true);
        Real x1 = 0.5*cos(a), y1 = 0.5*sin(a);
        Real x2 = cos(a) + 0.6*cos(a + b), y2 = sin(a) + 0.6*sin(a + b);
      equation
        lagrange((der(x1)^2 + der(y1)^2 + 0.1*der(a)^2)/2 + 0.8*(der(x2)^2 + der(y2)^2)/2 + 0.06*(der(a) + der(b))^2/2,
          9.81*(y1 + 0.8*y2), {a, b});
      end Two;";
    let times = [0.3, 0.6, 1.0];
    let second = of_text(lagrangian, &times);
    let first = run("Parts.Planar.Examples.DoublePendulum", &times);
    for (first, second) in first.iter().zip(&second) {
        for (name, other) in [("pin1.phi", "a"), ("pin2.phi", "b"), ("bar2.frame.y", "y2")] {
            assert!((first[name] - second[other]).abs() < 1e-6, "{name}");
        }
    }
}

/// Chaplygin's sleigh from v = 0: with I = J + m a^2 the speed along the blade is v = V tanh(kt) and the turning
/// w = W / cosh(kt), where V = W sqrt(I/m) and k = m a V/I.
#[test]
fn a_sleigh_turns_into_its_own_direction() {
    let (m, a, w) = (1.5, 0.5, 2.0);
    let inertia: f64 = 0.2 + m * a * a;
    let v = w * (inertia / m).sqrt();
    let k = m * a * v / inertia;
    let angle = |t: f64| 2.0 * w / k * (k * t / 2.0).tanh().atan();
    let turning = |t: f64| w / (k * t).cosh();
    let along = |t: f64| v * (k * t).tanh();
    let force = |t: f64| m * (along(t) * turning(t) - k * a * turning(t) * (k * t).tanh());
    let times = [0.4, 1.5, 3.0];
    check(
        "Planar.Examples.Sleigh",
        &times,
        &[
            ("skate.frame.phi", &angle),
            ("body.w", &turning),
            ("body.vx", &|t| {
                along(t) * angle(t).cos() - a * turning(t) * angle(t).sin()
            }),
            // Pushed across by the ice: what accelerates the centre of mass across the blade.
            ("skate.f", &|t| -force(t)),
        ],
    );
    let second = "model Sleigh
        parameter Real m = 1.5, J = 0.2, a = 0.5;
        Real x(start = 0, fixed = true), y(start = 0, fixed = true), th(start = 0, fixed = true), z;
        Real w(start = 2, fixed = true) = der(th), v(start = 0, fixed = true) = der(x)*cos(th) + der(y)*sin(th);
        Real px = x + a*cos(th), py = y + a*sin(th);
      equation
        lagrange(m*(der(px)^2 + der(py)^2)/2 + J*der(th)^2/2, 0, {x, y, th}, z = {z},
          velocity = {der(y)*cos(th) - der(x)*sin(th)});
      end Sleigh;";
    for (values, &t) in of_text(second, &times).iter().zip(&times) {
        for (name, exact) in [
            ("th", angle(t)),
            ("w", turning(t)),
            ("v", along(t)),
            ("z", -force(t)),
        ] {
            let found = values[name];
            assert!(
                (found - exact).abs() < 1e-6,
                "t = {t}: {name} = {found}, not {exact}"
            );
        }
    }
}

/// A blade that turns evenly on an inclined plane moves on a cycloid, and does not slide down (Neimark and Fufaev, 1972).
#[test]
fn a_blade_on_an_inclined_plane_does_not_slide_down() {
    let text = "model Blade
        parameter Real g = 5, Om = 2;
        Real x(start = 0, fixed = true), y(start = 0, fixed = true), th(start = 0, fixed = true), z;
        Real w(start = Om, fixed = true) = der(th), u(start = 0, fixed = true) = der(x)*cos(th) + der(y)*sin(th);
      equation
        lagrange((der(x)^2 + der(y)^2)/2 + 0.3*der(th)^2/2, -g*x, q = {x, y, th}, z = {z},
          velocity = {der(x)*sin(th) - der(y)*cos(th)});
      end Blade;";
    let times = [0.5, 2.0, 7.0];
    for (values, &t) in of_text(text, &times).iter().zip(&times) {
        let s = 5.0 / (2.0 * 4.0);
        let x = s * (2.0 * t).sin().powi(2);
        let y = s * (2.0 * t - (4.0 * t).sin() / 2.0);
        assert!(
            (values["x"] - x).abs() < 1e-6 && (values["y"] - y).abs() < 1e-6,
            "t = {t}"
        );
    }
}

/// An upright disk that rolls and turns evenly moves on a circle; a motor at its axle, joined by a flange, drives it.
#[test]
fn a_disk_rolls_on_a_circle_and_takes_a_motor() {
    let disk = "model Disk
          Parts.Rotational.Flange axle;
          parameter Real m = 2, R = 0.5, J = 0.25, I = 0.125, f0 = 3;
          Real x(start = 0, fixed = true), y(start = 0, fixed = true), th(start = 0, fixed = true), z[2];
          Real roll(start = 0, fixed = true), turn(start = 0.8, fixed = true) = der(th), spin(start = f0, fixed = true) = der(roll);
        equation
          axle.phi = roll;
          lagrange(m*(der(x)^2 + der(y)^2)/2 + J*der(roll)^2/2 + I*der(th)^2/2, 0, {x, y, roll, th}, z = z,
            F = {0, 0, axle.tau, 0}, velocity = {der(x) - R*cos(th)*der(roll), der(y) - R*sin(th)*der(roll)});
        end Disk;";
    let free = format!("model Free {disk} Disk disk; end Free;");
    let times = [1.0, 4.0];
    for (values, &t) in of_text(&free, &times).iter().zip(&times) {
        let radius = 0.5 * 3.0 / 0.8;
        let (x, y) = (radius * (0.8 * t).sin(), radius * (1.0 - (0.8 * t).cos()));
        assert!((values["disk.x"] - x).abs() < 1e-6 && (values["disk.y"] - y).abs() < 1e-6);
    }
    // A torque M speeds it up by M/(J + m R^2).
    let driven = format!(
        "model Driven {disk} Disk disk(f0 = 0); Parts.Rotational.Torque motor; Parts.Blocks.Constant moment(k = 1.5);
         equation connect(moment.y, motor.tau); connect(motor.flange, disk.axle); end Driven;"
    );
    for (values, &t) in of_text(&driven, &times).iter().zip(&times) {
        let exact = 1.5 / (0.25 + 2.0 * 0.25) * t;
        assert!(
            (values["disk.spin"] - exact).abs() < 1e-6,
            "t = {t}: {}",
            values["disk.spin"]
        );
    }
}

/// The end of the rocker of the four-bar at a crank angle, and the angle of the rocker.
fn rocker(angle: f64) -> (f64, f64, f64) {
    let (bx, by) = (angle.cos(), angle.sin());
    let (dx, dy) = (4.0 - bx, -by);
    let distance = dx.hypot(dy);
    let along = (distance * distance + 3.5 * 3.5 - 9.0) / (2.0 * distance);
    let across = (3.5 * 3.5 - along * along).sqrt();
    let (ux, uy) = (dx / distance, dy / distance);
    let (x, y) = (bx + along * ux - across * uy, by + along * uy + across * ux);
    (x, y, y.atan2(x - 4.0))
}

#[test]
fn a_four_bar_follows_its_geometry_and_its_power() {
    let times = [0.5, 2.0, 3.5, 5.5];
    let found = run("Parts.Planar.Examples.FourBar", &times);
    let side = |values: &Values| {
        let (x, y, _) = rocker(values["motor.phi"]);
        (values["mass.frame.x"] - x).hypot(values["mass.frame.y"] - y) < 1e-6
    };
    for (values, &time) in found.iter().zip(&times) {
        assert!((values["motor.phi"] - 1.0 - time).abs() < 1e-9);
        assert!(side(values), "t = {time}: {values:?}");
        // The crank turns with speed 1: its torque is the rate of the energy.
        let h = 1e-4;
        let energy = |angle: f64| {
            let ((xa, ya, pa), (xb, yb, pb)) = (rocker(angle - h), rocker(angle + h));
            let rate = |a: f64, b: f64| (b - a) / (2.0 * h);
            let moving =
                2.0 * (rate(xa, xb).powi(2) + rate(ya, yb).powi(2)) + 0.1 * rate(pa, pb).powi(2);
            moving / 2.0 + 2.0 * 9.81 * rocker(angle).1
        };
        let angle = 1.0 + time;
        let torque = (energy(angle + h) - energy(angle - h)) / (2.0 * h);
        let given = -values["motor.flange.tau"];
        assert!(
            (given - torque).abs() < 1e-4,
            "t = {time}: {given}, not {torque}"
        );
    }
}

/// Position of the piston of a slider-crank with crank 0.1 and rod 0.3, and its first two derivatives by the angle.
fn piston(angle: f64) -> [f64; 3] {
    let (s, c) = angle.sin_cos();
    let root = (0.09 - 0.01 * s * s).sqrt();
    let first = -0.1 * s - 0.01 * s * c / root;
    let second = -0.1 * c - 0.01 * (c * c - s * s) / root - 1e-4 * (s * c).powi(2) / root.powi(3);
    [0.1 * c + root, first, second]
}

#[test]
fn slider_cranks_follow_their_reduced_equation() {
    let free = |_: f64, [phi, w]: [f64; 2]| {
        let [_, first, second] = piston(phi);
        [
            w,
            -0.6 * first * second * w * w / (0.2 + 0.6 * first * first),
        ]
    };
    let angle = |t: f64| by_small_steps(free, [0.5, 8.0], t, 20_000)[0];
    check(
        "Planar.Examples.SliderCrank",
        &[0.3, 2.0],
        &[
            ("shaft.phi", &angle),
            ("cylinder.s", &|t| piston(angle(t))[0]),
        ],
    );
    let driven = |_: f64, [phi, w]: [f64; 2]| {
        let [s, first, second] = piston(phi);
        let torque = 0.5 * (12.0 - 0.5 * w) / 0.8 - 200.0 * (s - 0.2) * first;
        [
            w,
            (torque - first * second * w * w) / (0.05 + first * first),
        ]
    };
    let angle = |t: f64| by_small_steps(driven, [0.3, 10.0], t, 20_000)[0];
    check(
        "Examples.CrankPress",
        &[0.3, 2.0],
        &[
            ("rotor.phi", &angle),
            ("cylinder.axis.s", &|t| piston(angle(t))[0]),
        ],
    );
}

#[test]
fn loops_of_control_follow_second_methods() {
    let w = 2f64.sqrt();
    check(
        "Blocks.Examples.LevelLoop",
        &[0.5, 8.0],
        &[("plant.y", &|t| {
            2.0 - (-t).exp() * (2.0 * (w * t).cos() - (w * t).sin() / w)
        })],
    );
    // x: integral, z: filter, v: speed, y: position.
    let loops = |_: f64, [x, z, v, y]: [f64; 4]| {
        let u = 1.0 - y;
        let filter = (u - z) / (0.5 / 20.0);
        [u / 2.0, filter, 8.0 * (u + x + 0.5 * filter), v]
    };
    check(
        "Blocks.Examples.PositionLoop",
        &[0.5, 10.0],
        &[("position.y", &|t| {
            by_small_steps(loops, [0.0, 1.0, 0.0, 0.0], t, 20_000)[3]
        })],
    );
    let motor = |_: f64, [i, w]: [f64; 2]| {
        [
            (24.0 - 0.5 * i - 0.3 * w) / 0.01,
            (0.3 * i - 0.016 * w) / 0.05,
        ]
    };
    let values = |t: f64| by_small_steps(motor, [0.0, 0.0], t, 20_000);
    check(
        "Examples.MotorWithGear",
        &[0.05, 2.0],
        &[
            ("l.i", &|t| values(t)[0]),
            ("load.w", &|t| values(t)[1] / 5.0),
        ],
    );
    let speed = |_: f64, [x, w]: [f64; 2]| {
        let error = 50.0 - w;
        let voltage = 0.4 * (error + x);
        [error / 0.2, 0.3 * (voltage - 0.3 * w) / 0.5 / 0.05]
    };
    check(
        "Examples.SpeedControl",
        &[0.1, 3.0],
        &[("rotor.w", &|t| {
            by_small_steps(speed, [0.0, 0.0], t, 20_000)[1]
        })],
    );
}

/// Rigid couplings raise the index; the structure alone tells it here.
#[test]
fn couplings_raise_the_index() {
    let indices = [
        ("Electrical.Examples.LowPass", 1),
        ("Electrical.Examples.CapacitorLoop", 2),
        ("Electrical.Examples.InductorCut", 2),
        ("Electrical.Examples.Differentiator", 2),
        ("Translational.Examples.CoupledMasses", 3),
        ("Rotational.Examples.GearTrain", 3),
        ("Rotational.Examples.RackDrive", 3),
        ("Rotational.Examples.TorqueForPath", 3),
        ("Planar.Examples.Pendulum", 3),
        ("Planar.Examples.SliderCrank", 3),
    ];
    for (name, index) in indices {
        let loaded = daelight::load(&format!("Parts.{name}"), &Default::default()).expect(name);
        let system = daelight::system(loaded.model.as_ref().expect(name)).expect(name);
        let passport = daelight::analyze(&system, &Default::default()).expect(name);
        let record = daelight::record::analyze(&system, &passport, false);
        let found = record
            .differentiation
            .index
            .or(record.structural.map(|found| found.index));
        assert_eq!(found, Some(index), "{name}");
    }
}

/// Truths and whole numbers of a component that nothing needs, of a length that nothing else needs.
#[test]
fn what_is_shown_may_read_what_is_set_aside() {
    let text = "model Host
      model Probe
        Real x, y;
        Real length = sqrt(x^2 + y^2);
        Boolean is_far = noEvent(length > 0.5);
        Integer zone = if noEvent(length > 0.7) then 2 else 1;
      end Probe;
      Probe p;
      Real s(start = 0, fixed = true);
    equation
      der(s) = 1;  p.x = 0.6*s;  p.y = 0.8*s;
    end Host;";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("host.mo");
    std::fs::write(&path, text).expect("a file");
    let path = path.to_str().expect("a path");
    let loaded = daelight::load(path, &Default::default()).expect("a text");
    let model = loaded.model.expect("a model");
    let system = daelight::system(&model).expect("a system");
    let Ok(solution) = daelight::solve(&system, &SolveOptions::default()) else {
        panic!("no run");
    };
    let times = [0.25, 0.6, 0.9];
    let (names, rows) = daelight::samples(&system, &solution, &times).expect("values");
    let column = |name: &str| names.iter().position(|known| known == name).expect(name);
    let wanted = ["p.length", "p.is_far", "p.zone"].map(column);
    for ((_, row), truth) in rows
        .iter()
        .zip([[0.25, 0.0, 1.0], [0.6, 1.0, 1.0], [0.9, 1.0, 2.0]])
    {
        let found = wanted.map(|at| row[at]);
        let apart = |(a, b): (f64, f64)| (a - b).abs();
        let error = found.into_iter().zip(truth).map(apart).fold(0.0, f64::max);
        assert!(error < 1e-6, "{found:?} for {truth:?}");
    }
}

/// A value for an array of records reaches the fields of arrays inside its elements.
#[test]
fn values_of_arrays_of_records_reach_their_inner_arrays() {
    let text = "model Host
      record Pair  Real r; end Pair;
      record Cell  Real q = 7;  Pair pairs[2]; end Cell;
      record Stack  Cell cells[2, 3]; end Stack;
      block Pack  parameter Stack data;  Real y[2, 3, 2], q[2, 3];
      equation
        for i in 1:2 loop  for j in 1:3 loop
          q[i, j] = data.cells[i, j].q;
          for k in 1:2 loop  y[i, j, k] = data.cells[i, j].pairs[k].r; end for;
        end for;  end for;
      end Pack;
      parameter Cell a = Cell(pairs = {Pair(1), Pair(2)}), b = Cell(q = 8, pairs = {Pair(3), Pair(4)});
      Pack p(data = Stack(cells = {{if k == 2 and m == 3 then b else a for m in 1:3} for k in 1:2}));
    end Host;";
    let found = &of_text(text, &[0.0, 1.0])[1];
    for (i, j) in (1..=2).flat_map(|i| (1..=3).map(move |j| (i, j))) {
        let [q, first, second] = match (i, j) {
            (2, 3) => [8.0, 3.0, 4.0],
            _ => [7.0, 1.0, 2.0],
        };
        assert_eq!(found[&format!("p.q[{i},{j}]")], q);
        assert_eq!(found[&format!("p.y[{i},{j},1]")], first);
        assert_eq!(found[&format!("p.y[{i},{j},2]")], second);
    }
}

/// Records are compared, and raised to powers, by the operators of their class; a number beside one goes through its constructor.
#[test]
fn records_bring_their_own_comparisons_and_powers() {
    let text = "model Host
      operator record Dual
        Real a, b;
        encapsulated operator 'constructor'
          function fromReal import Host.Dual; input Real a; input Real b = 0; output Dual d(a = a, b = b); algorithm end fromReal;
        end 'constructor';
        encapsulated operator function '==' import Host.Dual; input Dual u; input Dual v; output Boolean same;
          algorithm same := u.a == v.a and u.b == v.b; end '==';
        encapsulated operator function '<>' import Host.Dual; input Dual u; input Dual v; output Boolean other;
          algorithm other := u.a <> v.a or u.b <> v.b; end '<>';
        encapsulated operator function '^' import Host.Dual; input Dual u; input Dual n; output Dual power;
          algorithm power := Dual(u.a^n.a, n.a*u.a^(n.a - 1)*u.b); end '^';
        encapsulated operator function '*' import Host.Dual; input Dual u; input Dual v; output Dual product;
          algorithm product := Dual(u.a*v.a, u.a*v.b + u.b*v.a); end '*';
        encapsulated operator function '+' import Host.Dual; input Dual u; input Dual v; output Dual sum;
          algorithm sum := Dual(u.a + v.a, u.b + v.b); end '+';
      end Dual;
      Dual u[2] = {Dual(time, 1), Dual(2, time)}, each_one[2] = u.*u, dot = u*u;
      parameter Dual d = Dual(1.7, 1)^3;
      parameter Boolean same = Dual(2) == 2;
      parameter Boolean other = Dual(2, 1) <> 2;
      Real x = d.a, y = d.b, z = if same and other then 1 else 0;
    end Host;";
    let found = &of_text(text, &[0.0, 1.0])[1];
    let truths = [("x", 1.7_f64.powi(3)), ("y", 3.0 * 1.7 * 1.7), ("z", 1.0)];
    // At t = 1: the squares of 1 + e and 2 + e.
    let squares = [
        ("each_one[1].b", 2.0),
        ("each_one[2].a", 4.0),
        ("dot.a", 5.0),
        ("dot.b", 6.0),
    ];
    for (name, truth) in truths.into_iter().chain(squares) {
        assert!(
            (found[name] - truth).abs() < 1e-12,
            "{name} = {}",
            found[name]
        );
    }
}

/// Every example has a test above, a description, and times of its own.
/// Signals on buses, declared and not, through sub-buses and arrays of components: the same run as with plain connections.
#[test]
fn buses_carry_what_is_connected() {
    let text = "model Plant
      connector In = input Real; connector Out = output Real;
      expandable connector Axis Real angle; Real never; end Axis;
      expandable connector Bus Axis axis1; Axis axis2; Real unused; end Bus;
      block Sine parameter Real w = 1; Out y; equation y = sin(w*time); end Sine;
      block Gain parameter Real k = 2; In u; Out y; equation y = k*u; end Gain;
      model Joint Axis bus; Sine s; Gain g; equation connect(s.y, bus.angle); connect(bus.command, g.u); end Joint;
      model Control Bus bus; Gain g[2](each k = 3); Real seen;
      equation connect(bus.axis1.angle, g[1].u); connect(bus.axis2.angle, g[2].u); connect(g[1].y, bus.axis1.command);
        connect(g[2].y, bus.axis2.command); seen = bus.axis1.angle; end Control;
      Bus bus; Joint joint1; Joint joint2(s(w = 2)); Control control; Real x(start = 0, fixed = true);
    equation
      connect(bus.axis1, joint1.bus); connect(joint2.bus, bus.axis2); connect(control.bus, bus);
      der(x) = joint2.g.y;
    end Plant;";
    let times = [0.3, 1.1];
    for (values, &t) in of_text(text, &times).iter().zip(&times) {
        let x = 6.0 * (1.0 - (2.0 * t).cos()) / 2.0;
        let truth = [
            ("joint1.g.y", 6.0 * t.sin()),
            ("joint2.g.y", 6.0 * (2.0 * t).sin()),
            ("control.seen", t.sin()),
            ("bus.axis2.command", 3.0 * (2.0 * t).sin()),
            ("x", x),
        ];
        for (name, exact) in truth {
            let error = (values[name] - exact).abs();
            assert!(
                error < 1e-6,
                "t = {t}: {name} = {}, not {exact}",
                values[name]
            );
        }
        assert!(
            !values
                .keys()
                .any(|name| name.ends_with("never") || name == "bus.unused")
        );
    }
}

#[test]
fn no_example_is_left_out() {
    let tests = include_str!("components.rs");
    let examples = daelight::parts_examples();
    assert!(examples.len() >= 20);
    for example in examples {
        let name = example.name.strip_prefix("Parts.").expect("a name");
        assert!(tests.contains(&format!("{name}\"")), "{name}");
        assert!(!example.description().is_empty(), "{name}");
        assert!(example.text.contains("experiment(StopTime"), "{name}");
    }
}
