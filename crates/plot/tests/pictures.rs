//! Pictures as files: well formed, the same every time, with nothing in them that is no number.

use daelight_plot::{
    Curve, Figure, Map, MatrixDrawing, Panel, Scale, Stroke, Theme, TimeMark, Tone, png, svg,
};

/// One curve in one panel.
fn of(points: impl IntoIterator<Item = (f64, f64)>) -> Figure {
    Figure::new("").panel(Panel::new("t [s]", "x [m]").curve(Curve::line("x", points)))
}

/// Every tag is closed, and every coordinate is a number within the picture's reach.
fn check(text: &str) {
    assert!(text.starts_with("<svg ") && text.trim_end().ends_with("</svg>"));
    let mut open = Vec::new();
    for tag in text.split('<').skip(1) {
        let (inside, _) = tag.split_once('>').expect("a tag ends");
        let name = inside.trim_start_matches('/').split([' ', '/']).next();
        let name = name.expect("a tag has a name").to_string();
        if inside.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !inside.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    for word in ["NaN", "nan", "inf"] {
        let values = text.split('"').skip(1).step_by(2);
        assert!(values.clone().all(|value| !value.contains(word)), "{word}");
    }
    let points = text.split("points=\"").skip(1);
    for list in points.map(|rest| rest.split('"').next().unwrap_or("")) {
        for number in list.split([',', ' ']).filter(|word| !word.is_empty()) {
            let number: i64 = number.parse().expect("a coordinate");
            assert!((-10_000..200_000).contains(&number), "{number}");
        }
    }
}

/// A figure with one panel of every kind.
fn everything() -> Figure {
    let sine = || (0..200).map(|i| 0.05 * f64::from(i)).map(|t| (t, t.sin()));
    let curves = Panel::new("t [s]", "x [m]")
        .curve(Curve::line("sine", sine()))
        .curve(Curve::line("dots", sine().step_by(9)).stroke(Stroke::Dots))
        .curve(Curve::line("dashes", [(0.0, 1.0), (9.0, -1.0)]).dashed())
        .mark(TimeMark {
            at: 3.0,
            label: "5-A".to_string(),
        });
    let log = Panel::new("error", "time [s]")
        .x_scale(Scale::Log)
        .y_scale(Scale::Log)
        .curve(Curve::line("", [(1e-12, 3.0), (1e-3, 0.01)]).stroke(Stroke::Links));
    let axis: Vec<f64> = (0..12).map(f64::from).collect();
    let values: Vec<f64> = (0..144)
        .map(|i| f64::from(i % 12 * (i / 12)) + 0.5)
        .collect();
    let map = Map::new(axis.clone(), axis.clone(), values).contours([10.0, 40.0]);
    let map = Panel::new("a", "b")
        .map(map)
        .curve(Curve::line("edge", [(-5.0, 0.0), (20.0, 11.0)]));
    let counts: Vec<f64> = (0..144)
        .map(|i| if i == 7 { f64::NAN } else { f64::from(i % 5) })
        .collect();
    let counts = Map::new(axis.clone(), axis, counts).ordered();
    let counts = Panel::new("a", "b").title("numbers").map(counts).curve(
        Curve::line("border", [(0.0, 0.0), (11.0, 5.0)])
            .ink()
            .dashed(),
    );
    let names = |n: usize| (0..n).map(|i| format!("x{i}")).collect::<Vec<_>>();
    let matrix = (0..4).fold(MatrixDrawing::new(names(4), names(4)), |matrix, i| {
        matrix
            .cell(i, i, "1", Tone::Strong)
            .cell(i, 3, "2", Tone::Value(-0.5))
    });
    let links = Panel::new("x [m]", "y [m]")
        .equal_axes()
        .x_limits(-1.0, 3.0)
        .curve(Curve::line("", [(0.0, 0.0), (1.0, 1.0), (2.0, 0.5)]).stroke(Stroke::Links))
        .curve(Curve::line("", [(0.0, 0.0)]).stroke(Stroke::Squares));
    let bare = Panel::new("seen from above", "").bare().equal_axes().curve(
        Curve::line("", [(0.0, 0.0), (1.0, 2.0)])
            .stroke(Stroke::Links)
            .faded(0.3)
            .width(2.0),
    );
    [
        curves,
        log,
        map,
        counts,
        Panel::matrix(matrix.block((0, 2), (0, 2))),
        links,
        bare,
    ]
    .into_iter()
    .fold(Figure::new("Everything").columns(2), Figure::panel)
}

#[test]
fn a_picture_is_the_same_every_time_and_has_its_size() {
    for theme in [Theme::Light, Theme::Dark] {
        let text = svg(&everything(), theme);
        check(&text);
        assert_eq!(text, svg(&everything(), theme));
    }
    let figure = everything().whole_size(640, 900);
    let text = svg(&figure, Theme::Light);
    assert!(text.contains("width=\"640\" height=\"900\""));
    for (scale, size) in [(1.0, (640u32, 900u32)), (2.0, (1280, 1800))] {
        let bytes = png(&text, scale).expect("a picture");
        assert_eq!(&bytes[1..4], b"PNG");
        let number =
            |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        assert_eq!((number(16), number(20)), size);
    }
    assert_eq!(
        png(&text, 1.0).expect("a picture"),
        png(&text, 1.0).expect("a picture")
    );
    assert!(png("no picture", 1.0).is_err());
}

#[test]
fn the_words_of_a_picture_are_drawn_with_the_font_that_comes_along() {
    // Pixels that are not white; without a font there would be none.
    let dark = |text: &str| {
        let bytes = png(text, 1.0).expect("a picture").len();
        let empty = png(&svg(&Figure::new(""), Theme::Light), 1.0).expect("a picture");
        bytes > empty.len() + 500
    };
    assert!(dark(&svg(
        &Figure::new("αβγ ×10⁻¹² ẋ ≤ √2 −1"),
        Theme::Light
    )));
}

#[test]
fn odd_data_make_no_odd_pictures() {
    let cases: Vec<Vec<(f64, f64)>> = vec![
        vec![],
        vec![(1.0, 2.0)],
        vec![(0.0, 0.0), (1.0, 0.0)],
        vec![(0.0, 5.0), (1.0, 5.0)],
        vec![(0.0, 1e300), (1.0, -1e300)],
        vec![(0.0, f64::MAX), (1.0, f64::MIN)],
        vec![(0.0, 1e-300), (1.0, 3e-300)],
        vec![(0.0, 5e-324), (1.0, 0.0)],
        vec![(f64::NAN, 1.0), (f64::INFINITY, 1.0)],
        vec![
            (0.0, f64::NAN),
            (1.0, f64::INFINITY),
            (2.0, 1.0),
            (3.0, 2.0),
        ],
        vec![(1.0, 1.0), (1.0 + 1e-15, 1.0 + 1e-15)],
        vec![(-1.0, -1.0), (0.0, 0.0), (1.0, 1e-320)],
    ];
    for points in cases {
        for scale in [Scale::Linear, Scale::Log] {
            for stroke in [Stroke::Line, Stroke::Dots, Stroke::Links, Stroke::Squares] {
                let curve = Curve::line("x", points.clone()).stroke(stroke);
                let panel = Panel::new("t", "x")
                    .y_scale(scale)
                    .x_scale(scale)
                    .curve(curve);
                check(&svg(&Figure::new("").panel(panel.clone()), Theme::Light));
                check(&svg(
                    &Figure::new("").panel(panel.equal_axes()),
                    Theme::Dark,
                ));
            }
        }
    }
    let maps = [
        Map::new([], [], []),
        Map::new([1.0], [2.0], [3.0]),
        Map::new([0.0, f64::NAN], [0.0, 1.0], [1.5; 4]),
        Map::new([0.0, 1.0], [0.0, 1.0], [f64::NAN; 4]).contours([0.0]),
        Map::new(
            [1.0, 10.0],
            [1e-300, 1e300],
            [0.5, 1e300, -1e300, f64::INFINITY],
        )
        .contours([0.0]),
    ];
    for map in maps {
        for scale in [Scale::Linear, Scale::Log] {
            let panel = Panel::new("a", "b")
                .map(map.clone())
                .x_scale(scale)
                .y_scale(scale);
            check(&svg(&Figure::new("").panel(panel), Theme::Light));
        }
    }
    check(&svg(&Figure::new("nothing"), Theme::Light));
    check(&svg(
        &Figure::new("").panel(Panel::matrix(MatrixDrawing::new([], []))),
        Theme::Light,
    ));
    check(&svg(&everything().whole_size(1, 1), Theme::Light));
}

#[test]
fn many_points_are_thinned() {
    let wave = (0..100_000).map(f64::from).map(|i| (i, (0.3 * i).sin()));
    assert!(svg(&of(wave), Theme::Light).len() < 120_000);
    let spiral = (0..100_000)
        .map(f64::from)
        .map(|i| (i * (1e-3 * i).cos(), i * (1e-3 * i).sin()));
    assert!(svg(&of(spiral), Theme::Light).len() < 700_000);
}

#[test]
fn curves_are_finer_than_pixels() {
    let text = svg(
        &of((0..50).map(f64::from).map(|i| (i, (0.1 * i).sin()))),
        Theme::Light,
    );
    assert!(text.contains("width=\"840\"") && text.contains("viewBox=\"0 0 8400 "));
}

#[test]
fn words_are_escaped() {
    let panel =
        Panel::new("a < b", "\"c\" & d").curve(Curve::line("<e>", [(0.0, 0.0), (1.0, 1.0)]));
    let panel = panel.curve(Curve::line("f\u{0}\n", [(0.0, 1.0), (1.0, 0.0)]));
    let text = svg(&Figure::new("</svg>").panel(panel), Theme::Light);
    check(&text);
    for word in [
        "a &lt; b",
        "&quot;c&quot; &amp; d",
        "&lt;e&gt;",
        "&lt;/svg&gt;",
    ] {
        assert!(text.contains(word), "{word}");
    }
    assert!(png(&text, 1.0).is_ok());
}

/// Words of marks close to each other lie in different lines.
#[test]
fn words_of_marks_do_not_cover_each_other() {
    let curve = Curve::line("", [(0.0, 0.0), (1.0, 1.0)]);
    let panel = (0..3).fold(Panel::new("t", "x").curve(curve), |panel, i| {
        panel.mark(TimeMark {
            at: 0.5 + 0.001 * f64::from(i),
            label: "removable".to_string(),
        })
    });
    let text = svg(&Figure::new("").panel(panel), Theme::Light);
    let mut lines: Vec<&str> = (text.split("<text ").skip(1))
        .filter(|tag| tag.contains("removable"))
        .filter_map(|tag| tag.split("y=\"").nth(1)?.split('"').next())
        .collect();
    assert_eq!(lines.len(), 3);
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 3);
}

/// Of two curves on each other both are seen: the second is dashed, in the legend too. Curves that only cross are not.
#[test]
fn a_curve_on_another_is_dashed() {
    let line = |slope: f64| (0..50).map(move |i| (f64::from(i), slope * f64::from(i)));
    let lines = |slopes: [f64; 2]| {
        let curves = slopes.map(|slope| Curve::line(format!("{slope}"), line(slope)));
        let panel = curves.into_iter().fold(Panel::new("t", "x"), Panel::curve);
        let text = svg(&Figure::new("").panel(panel), Theme::Light);
        text.matches("stroke=\"#D55E00\"").count()
    };
    assert!(lines([1.0, 1.0]) > 10);
    assert_eq!(lines([1.0, -1.0]), 2, "a curve and its legend");
}
