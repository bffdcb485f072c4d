//! The command `examples`: the built-in models.

use crate::cli::ExamplesArgs;
use crate::terminal::{Ended, Status, Terminal};
use daelight::BuiltIn;
use daelight_show::record::ExampleRecord;

pub fn examples(arguments: &ExamplesArgs, terminal: &Terminal) -> Ended {
    let models = daelight::built_in_models();
    let record = |model: &BuiltIn| ExampleRecord {
        name: model.name,
        description: model.description(),
    };
    let Some(name) = arguments.name.as_deref() else {
        let records: Vec<ExampleRecord> = models.iter().map(record).collect();
        let width = models.iter().map(|model| model.name.len()).max();
        let width = width.unwrap_or(0);
        let row = |found: &ExampleRecord| format!("{:width$}  {}\n", found.name, found.description);
        let text = |records: &Vec<ExampleRecord>| records.iter().map(row).collect();
        terminal.print(&records, text, arguments.json, None)?;
        return Ok(Status::Done);
    };
    let Some(model) = models.iter().find(|model| model.name == name) else {
        let help = match daelight_lang::nearest(name, models.iter().map(|model| model.name)) {
            Some(near) => format!("did you mean {near}?"),
            None => "see `daelight examples` for the list".to_string(),
        };
        return Err(terminal.usage(&format!("there is no built-in model `{name}`"), &help));
    };
    let text = |_: &_| model.text.to_string();
    terminal.print(&record(model), text, arguments.json, None)?;
    Ok(Status::Done)
}
