//! Answers for a terminal: short sentences, tables, and the numbers behind every verdict.

mod analyze;
mod feedforward;
mod fit;
mod frame;
mod gradient;
pub(crate) mod linear;
mod run;
mod sensitivity;
mod singular;
mod spectrum;
mod start;
mod sweep;

pub(crate) use analyze::MAX_LISTED;
pub use analyze::{analyze, index_rows, passport_summary};
pub use feedforward::feedforward;
pub use fit::fit;
pub use frame::frame;
pub use gradient::gradient;
pub use linear::linearize;
pub use run::{
    energy, guest, modes, nature_words, open_direction, singularity_text, solve, time_words,
};
pub(crate) use singular::always_sentence;
pub use singular::singular;
pub(crate) use start::adjusted_sentence;
pub use start::{closest_words, freedom_sentences, init};
pub use sweep::sweep;

use comfy_table::{ContentArrangement, Table, presets};

/// Width of a page when the terminal does not tell.
const WIDTH: usize = 100;
fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_BORDERS_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH as u16)
        .set_header(header);
    table
}

/// A sentence on lines of at most the width of a page, indented.
fn wrapped(sentence: &str) -> String {
    let mut text = String::new();
    let mut line = String::from("  ");
    for word in sentence.split_whitespace() {
        if line.chars().count() + word.chars().count() + 1 > WIDTH && line.trim() != "" {
            text.push_str(line.trim_end());
            text.push('\n');
            line = String::from("    ");
        }
        line.push_str(word);
        line.push(' ');
    }
    text.push_str(line.trim_end());
    text.push('\n');
    text
}
