//! The command `explain`: what a word of the output means.

use crate::cli::ExplainArgs;
use crate::terminal::{Status, Terminal};

pub fn explain(arguments: &ExplainArgs, terminal: &Terminal) -> Status {
    let entries = daelight::entries();
    let word = arguments.words.join(" ");
    if word.is_empty() {
        let names: String = entries
            .iter()
            .map(|entry| format!("{}\n", entry.word))
            .collect();
        return terminal.answer(names.as_bytes(), None);
    }
    match daelight::explain(&word) {
        Some(found) => {
            let also = match found.also.as_slice() {
                [] => String::new(),
                also => format!(" (also: {})", also.join(", ")),
            };
            let text = format!("{}{also}\n\n{}", found.word, found.text);
            terminal.answer(text.as_bytes(), None)
        }
        None => {
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
        }
    }
}
