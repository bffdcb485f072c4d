//! Pages are well formed whatever their texts are, and show what they are given.

use daelight_plot::TimeMark;
use daelight_show::page::{
    Chart, Element, Fact, Film, Formula, Grid, Inline, MathMl, Mood, Page, Section, Still, html,
};
use daelight_show::record::TimeSeries;
use daelight_show::scene::{Backdrop, Rectangle, Scene};

/// A page with every kind of block, all texts hostile.
fn page() -> Page {
    let text = || "</script>&<b a=\"'\">]]>\u{1}".to_string();
    let spans = || {
        vec![
            Inline::Text(text()),
            Inline::Code(text()),
            Inline::Strong(text()),
        ]
    };
    let mut table = Grid::new(text(), &[&text(), "number"]).numeric(&[1]);
    table.row([
        Inline::Text(text()),
        Inline::Math(MathMl::new("<mi>x</mi><mo>-</mo>")),
    ]);
    let stage = Backdrop {
        bounds: Rectangle {
            min: [0.0, 0.0],
            max: [1.0, 0.0],
        },
        fixed: vec![vec![true, false], vec![true, true]],
        unit: Some(text()),
        axes: Some([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]),
    };
    let frame = vec![
        vec![[0.0, 0.0], [f64::NAN, 1.0]],
        vec![[0.0, 0.0], [1.0, 0.0]],
    ];
    let picture = Still {
        stage: stage.clone(),
        frame: frame.clone(),
        ghosts: vec![frame.clone()],
        caption: spans(),
        description: text(),
    };
    let mark = || TimeMark {
        at: 0.5,
        label: text(),
    };
    let film = Film {
        scene: Scene {
            stage,
            times: vec![0.0, 1.0],
            frames: vec![frame.clone(), frame],
        },
        marks: vec![mark()],
        caption: spans(),
        description: text(),
    };
    let chart = Chart {
        caption: text(),
        x_label: text(),
        y_label: text(),
        times: vec![0.0, 0.5, 1.0],
        series: vec![TimeSeries {
            name: text(),
            unit: String::new(),
            values: vec![1.0, f64::NAN, 2.0],
        }],
        marks: vec![mark()],
        is_logarithmic: true,
        y_limits: None,
    };
    let equation = Formula {
        math: None,
        source: text(),
        line: Some(3),
    };
    let notice = |tone| Element::notice(tone, [text()]);
    let mut page = Page::new(text());
    page.lead = text();
    page.footer = text();
    page.facts.push(Fact {
        name: text(),
        value: text(),
        remark: text(),
        tone: Mood::Bad,
    });
    page.sections.push(Section {
        id: "all",
        title: text(),
        blocks: vec![
            Element::Text(spans()),
            Element::Hint(text()),
            Element::Heading(text()),
            Element::List(vec![spans()]),
            Element::Grid(table),
            Element::code(text(), text()),
            Element::Equations(vec![equation]),
            Element::details(text(), vec![notice(Mood::Good), notice(Mood::Warning)]),
            Element::Still(picture.clone()),
            Element::Gallery(vec![picture]),
            Element::Columns(vec![vec![Element::Chart(chart)], vec![Element::Film(film)]]),
        ],
    });
    page
}

#[test]
fn whatever_the_texts_are_the_page_is_well_formed() {
    let text = html(&page());
    let options = roxmltree::ParsingOptions {
        allow_dtd: true,
        ..Default::default()
    };
    let document = match roxmltree::Document::parse_with_options(&text, options) {
        Ok(document) => document,
        Err(error) => panic!("{error}"),
    };
    assert!(!document.descendants().any(|node| node.has_tag_name("b")));
    let programs = document
        .descendants()
        .filter(|node| node.tag_name().name() == "script" && node.attribute("type").is_none());
    assert_eq!(programs.count(), 1);
    // In HTML the first end of a script ends it, whatever XML thinks.
    assert_eq!(text.matches("</script").count(), 3);
    assert!(text.contains("<mo>\u{2212}</mo>"));
}

#[test]
fn sentences_set_what_is_quoted() {
    let spans = Inline::sentence("use `init --all` now");
    assert!(
        matches!(&spans[..], [Inline::Text(_), Inline::Code(code), Inline::Text(_)] if code == "init --all")
    );
    assert!(matches!(
        &Inline::sentence("one ` alone")[..],
        [Inline::Text(_)]
    ));
}

#[test]
fn formulas_break_before_signs_and_names_stay_apart() {
    let times = "<mo lspace=\"0.17em\" rspace=\"0\">&#x2062;</mo>";
    let sum = format!(
        "<mrow><mi>rr</mi>{times}<mi>w</mi><mo>-</mo><mrow><mi>sin</mi><mo>(</mo><mi>q</mi><mo>)</mo></mrow>{times}<mi>d</mi></mrow>"
    );
    let equation = Formula {
        math: Some(MathMl::new(&format!(
            "<mrow>{sum}<mo>=</mo><mi>x</mi></mrow>"
        ))),
        source: String::new(),
        line: None,
    };
    let mut page = Page::new("Formulas");
    let section = Section::new("all", "All").block(Element::Equations(vec![equation]));
    page.sections.push(section);
    let text = html(&page);
    assert_eq!(text.matches("<math").count(), 3, "{text}");
    assert!(text.contains("<mi>rr</mi><mo>\u{22C5}</mo><mi>w</mi>"));
    assert!(text.contains(&format!("<mo>)</mo></mrow>{times}<mi>d</mi>")));
}

#[test]
fn thinning_keeps_the_ends_and_the_extremes() {
    let spike = |at: usize| -> Vec<f64> {
        (0..10_000)
            .map(|k| {
                if k == at {
                    5.0
                } else {
                    (k as f64 * 1e-3).sin()
                }
            })
            .collect()
    };
    let even = |n: u32| (0..n).map(f64::from).collect::<Vec<f64>>();
    let spikes = [spike(1237), spike(7771)];
    let curves = [&spikes[0][..], &spikes[1][..]];
    let kept = Chart::thinned(&curves, &even(10_000), 300);
    assert!(kept.len() <= 300, "{}", kept.len());
    for wanted in [0, 1237, 7771, 9_999] {
        assert!(kept.contains(&wanted), "{wanted}");
    }
    assert!(kept.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(
        Chart::thinned(&curves, &even(10), 300),
        (0..10).collect::<Vec<_>>()
    );
    let gaps = [&[f64::NAN; 500][..]];
    assert!(Chart::thinned(&gaps, &even(500), 100).len() <= 100);
    // Steps, where a time occurs twice, keep both of their sides.
    let mut times = even(10_000);
    times[4001] = times[4000];
    let kept = Chart::thinned(&curves, &times, 300);
    assert!(kept.len() <= 300 && kept.contains(&4000) && kept.contains(&4001));
}
