//! daelight
fn main() {}
