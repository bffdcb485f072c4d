//! Real configurations over two parameters of Andrews' mechanism: regions, boundary, counts.

mod common;

use common::{library, model};
use daelight_algebra::{IBig, Polynomial, RBig};
use daelight_singular::{Answer, Kept, Limits, Question, Verdict, answer};

fn over_first_rods(set: &[&str]) -> Answer {
    let model = model(&library("andrews-constraints"), set);
    let names = ["a[1]", "a[2]"].map(str::to_string);
    let question = Question {
        parameters: Kept::Named(names.to_vec()),
        ..Question::default()
    };
    answer(&model, &question, &Limits::default()).expect("the constraints are algebraic")
}

#[test]
fn probe() {
    let start = std::time::Instant::now();
    let found = over_first_rods(&[]);
    println!("{:?} {:?} {:?}", start.elapsed(), found.verdict, found.reasons);
    let regions = found.regions.as_ref().expect("two parameters");
    for piece in &regions.pieces {
        println!("case {} degree {} {:?}", piece.case, piece.form.degree, found.texts(&piece.form.exceptional));
        for p in &piece.boundary { println!("  {}", found.text(p)); }
        for r in &piece.regions { println!("  {:?} {:?} {} {}", r.signs, r.sample.iter().map(|v| v.to_string()).collect::<Vec<_>>(), r.count, r.n_cells); }
    }
    for (case, list) in &regions.only { println!("only {case} {:?}", found.texts(list)); }
    println!("overlaps {:?}", found.texts(&regions.overlaps));
    for r in &regions.total { println!("total {:?} {} {}", r.sample.iter().map(|v| v.to_string()).collect::<Vec<_>>(), r.count, r.n_cells); }
    let start = std::time::Instant::now();
    let found = over_first_rods(&["b[1]=-0.06934+0.03*sqrt(2)"]);
    println!("{:?} {:?} {:?}", start.elapsed(), found.verdict, found.reasons);
    let regions = found.regions.as_ref().expect("two parameters");
    for piece in &regions.pieces {
        println!("case {} degree {} {:?}", piece.case, piece.form.degree, found.texts(&piece.form.exceptional));
        for p in &piece.boundary { println!("  {}", found.text(p)); }
    }
    println!("overlaps {:?}", found.texts(&regions.overlaps));
    for r in &regions.total { println!("total {:?} {} {}", r.sample.iter().map(|v| v.to_string()).collect::<Vec<_>>(), r.count, r.n_cells); }
    let _: Option<(IBig, Polynomial, RBig, Verdict)> = None;
}
