//! The command `examples`: the built-in models.

use crate::cli::ExamplesArgs;
use crate::terminal::{Ended, Status, Terminal};
use daelight_show::record::ExampleRecord;

/// A built-in model, alone or of the library of components.
struct Example {
    record: ExampleRecord,
    text: &'static str,
}

fn all() -> Vec<Example> {
    let models = daelight::built_in_models().iter().map(|model| Example {
        record: ExampleRecord {
            name: model.name.to_string(),
            description: model.description(),
        },
        text: model.text,
    });
    let parts = daelight::parts_examples()
        .into_iter()
        .map(|example| Example {
            record: ExampleRecord {
                description: example.description().to_string(),
                name: example.name,
            },
            text: example.text,
        });
    models.chain(parts).collect()
}

pub fn examples(arguments: &ExamplesArgs, terminal: &Terminal) -> Ended {
    let mut models = all();
    let Some(name) = arguments.name.as_deref() else {
        let records: Vec<ExampleRecord> = models.into_iter().map(|model| model.record).collect();
        let width = records.iter().map(|record| record.name.len()).max();
        let width = width.unwrap_or(0);
        let row = |found: &ExampleRecord| format!("{:width$}  {}\n", found.name, found.description);
        let text = |records: &Vec<ExampleRecord>| records.iter().map(row).collect();
        terminal.print(&records, text, arguments.json, None)?;
        return Ok(Status::Done);
    };
    let Some(at) = models.iter().position(|model| model.record.name == name) else {
        let names = models.iter().map(|model| model.record.name.as_str());
        let help = match daelight_lang::nearest(name, names) {
            Some(near) => format!("did you mean {near}?"),
            None => "see `daelight examples` for the list".to_string(),
        };
        return Err(terminal.usage(&format!("there is no built-in model `{name}`"), &help));
    };
    let Example { record, text } = models.swap_remove(at);
    terminal.print(&record, |_: &_| text.to_string(), arguments.json, None)?;
    Ok(Status::Done)
}
