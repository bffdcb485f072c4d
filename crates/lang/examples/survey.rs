//! What becomes of classes of a library: `survey FOLDER NAME…`, one line for each, the names from standard input where none
//! are given.

use daelight_lang::{Files, Options, Severity, balance, load};
use std::io::BufRead;
use std::sync::Arc;
use std::time::Instant;

#[derive(Debug)]
struct Disk(String);

impl Files for Disk {
    fn roots(&self) -> Vec<String> {
        vec![self.0.clone()]
    }

    fn list(&self, folder: &str) -> Option<Vec<(String, bool)>> {
        let entries = std::fs::read_dir(folder).ok()?;
        let entry = |entry: std::fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            Some((name, entry.file_type().ok()?.is_dir()))
        };
        Some(entries.filter_map(|it| entry(it.ok()?)).collect())
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(path).map_err(|error| error.to_string())
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next() else {
        eprintln!("survey FOLDER NAME…");
        return;
    };
    let mut names: Vec<String> = arguments.collect();
    if names.is_empty() {
        names = std::io::stdin()
            .lock()
            .lines()
            .map_while(Result::ok)
            .collect();
    }
    let options = Options {
        files: Some(Arc::new(Disk(folder))),
        ..Options::default()
    };
    for name in names {
        let began = Instant::now();
        let text = format!("model Survey extends {name}; end Survey;");
        let loaded = load("survey.mo", text.as_bytes(), &options);
        let seconds = began.elapsed().as_secs_f64();
        match &loaded.model {
            Some(model) => {
                let (n, m) = (model.unknowns.len(), model.equations.len());
                let word = match balance(model).is_balanced() {
                    true => "balanced",
                    false => "UNBALANCED",
                };
                println!("{word:10} {seconds:6.2} s  {name}  {n} unknowns, {m} equations");
            }
            None => {
                let is_error = |it: &&daelight_lang::Diagnostic| it.severity == Severity::Error;
                let first = loaded.diagnostics.iter().find(is_error);
                let message = first.map_or("nothing", |it| it.message.as_str());
                let place = first.and_then(|it| it.span).map(|span| {
                    let source = loaded.sources.get(span.source);
                    let line = source.line_column(span.start).0;
                    format!("{}:{line}", source.name())
                });
                let place = place.unwrap_or_default();
                println!("stopped    {seconds:6.2} s  {name}  {message}  [{place}]");
                if std::env::var_os("SURVEY_ALL").is_some() {
                    for it in &loaded.diagnostics {
                        let place = it.span.map(|span| {
                            let source = loaded.sources.get(span.source);
                            format!("{}:{}", source.name(), source.line_column(span.start).0)
                        });
                        println!("    {} [{}]", it.message, place.unwrap_or_default());
                    }
                }
            }
        }
    }
}
