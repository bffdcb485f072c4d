//! The command `examples`: the built-in models.

use crate::cli::ExamplesArgs;
use crate::terminal::{Status, Terminal};
use daelight_show::record::{ExampleRecord, to_json};

pub fn examples(arguments: &ExamplesArgs, terminal: &Terminal) -> Status {
    let json = arguments.json;
    let models = daelight::built_in_models();
    let Some(name) = arguments.name.as_deref() else {
        let records: Vec<ExampleRecord> = models
            .iter()
            .map(|model| ExampleRecord {
                name: model.name,
                description: model.description(),
            })
            .collect();
        let answer = if json {
            to_json(&records)
        } else {
            let width = models
                .iter()
                .map(|model| model.name.len())
                .max()
                .unwrap_or(0);
            let row = |record: &ExampleRecord| {
                format!("{:width$}  {}\n", record.name, record.description)
            };
            records.iter().map(row).collect()
        };
        return terminal.answer(answer.as_bytes(), None);
    };
    match models.iter().find(|model| model.name == name) {
        Some(model) if json => {
            let record = ExampleRecord {
                name: model.name,
                description: model.description(),
            };
            terminal.answer(to_json(&record).as_bytes(), None)
        }
        Some(model) => terminal.answer(model.text.as_bytes(), None),
        None => {
            let help = match daelight_lang::nearest(name, models.iter().map(|model| model.name)) {
                Some(near) => format!("did you mean {near}?"),
                None => "see `daelight examples` for the list".to_string(),
            };
            terminal.usage(&format!("there is no built-in model `{name}`"), &help)
        }
    }
}
