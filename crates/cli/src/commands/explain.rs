//! The command `explain`: what a word of the output means.

use crate::cli::ExplainArgs;
use crate::terminal::{Ended, Status, Terminal};

pub fn explain(arguments: &ExplainArgs, terminal: &Terminal) -> Ended {
    let entries = daelight::entries();
    let word = arguments.words.join(" ");
    let text = if word.is_empty() {
        entries
            .iter()
            .map(|entry| format!("{}\n", entry.word))
            .collect()
    } else {
        let found = daelight::explain(&word).ok_or_else(|| {
            let words = entries
                .iter()
                .flat_map(|entry| entry.also.iter().chain([&entry.word]));
            let help = match daelight_lang::nearest(&word, words.copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    "`daelight explain` without a word lists all that are explained".to_string()
                }
            };
            terminal.usage(&format!("`{word}` is not explained"), &help)
        })?;
        let also = match found.also.as_slice() {
            [] => String::new(),
            also => format!(" (also: {})", also.join(", ")),
        };
        format!("{}{also}\n\n{}", found.word, found.text)
    };
    terminal.answer(text.as_bytes(), None)?;
    Ok(Status::Done)
}
