use daelight_lang::*;
fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().unwrap();
    let opts = Options {
        set: args.collect(),
        ..Default::default()
    };
    let t = std::time::Instant::now();
    let bytes = std::fs::read(&path).unwrap();
    let l = load(&path, &bytes, &opts);
    for d in &l.diagnostics {
        let at = d.span.map(|s| l.sources.get(s.source).line_column(s.start));
        println!(
            "{:?} {} {:?} {} | {} | {:?} {:?}",
            d.severity,
            d.code.word(),
            at,
            d.message,
            d.label,
            d.help,
            d.notes
        );
    }
    if let Some(m) = &l.model {
        println!(
            "{} eq {} unk {} init {:?}",
            m.equations.len(),
            m.unknowns.len(),
            m.initial_equations.len(),
            t.elapsed()
        );
        let b = balance(m);
        println!("{:?}", t.elapsed());
        for d in b.diagnostics(m) {
            println!("{} {:?} {:?}", d.message, d.notes, d.help);
        }
        if m.equations.len() < 30 {
            println!("{}", flat_modelica(m, ArrayStyle::Kept).unwrap());
        }
    }
}
