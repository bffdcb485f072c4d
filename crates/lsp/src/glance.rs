//! What can be written at a place of one text, and what is known of its names, for who keeps no documents open: a page.

use crate::complete::complete;
use crate::document::{Encoding, Text};
use crate::hover::hover;
use crate::library::{Cache, Overlay};
use crate::names::World;
use crate::server::ServerSettings;
use daelight_lang::Files;
use serde_json::Value;
use std::sync::Arc;

/// A place of a text, and the libraries that it sees.
pub struct Glance<'t> {
    /// The text.
    pub text: &'t str,
    /// The place, in units of UTF-16.
    pub place: usize,
    /// Its libraries and neighbours.
    pub files: Arc<dyn Files>,
}

impl Glance<'_> {
    /// The answer to `textDocument/completion`.
    pub fn completion(&self) -> Value {
        let most = ServerSettings::default().most_items;
        self.seen(|world, byte| complete(world, byte, most))
    }

    /// The answer to `textDocument/hover`, without what an analysis tells.
    pub fn hover(&self) -> Value {
        self.seen(|world, byte| hover(world, None, byte, Encoding::Utf16))
    }

    fn seen(&self, answer: impl FnOnce(&World<'_>, usize) -> Value) -> Value {
        let mut units = 0;
        let mut before = self.text.char_indices().skip_while(|(_, c)| {
            units += c.len_utf16();
            units <= self.place
        });
        let byte = before.next().map_or(self.text.len(), |(at, _)| at);
        let files = Overlay::of(self.files.clone());
        let cache = Cache::default();
        let text = Arc::new(Text::new("text.mo", self.text.to_string()));
        let most = ServerSettings::default().most_lookups;
        answer(&World::new(text, &files, &cache, most), byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_components_are_offered_and_told() {
        let text = "model M \"ü𝒂\"\n  Parts.Planar.Rod rod(rx = 1);\n  Real y;\nequation\n  y = rod.\nend M;\n";
        let units = |place: &str| {
            text[..text.find(place).expect(place)]
                .encode_utf16()
                .count()
        };
        let glance = |place| Glance {
            text,
            place,
            files: daelight::library_folders(&[], ""),
        };
        let offered = glance(units("rod.\nend") + 4).completion();
        let labels = offered["items"].as_array().expect("items").iter();
        let labels: Vec<&str> = labels.filter_map(|item| item["label"].as_str()).collect();
        assert!(
            labels.contains(&"rx") && labels.contains(&"a"),
            "{labels:?}"
        );
        let told = glance(units("rod(rx") + 1).hover();
        let words = told["contents"]["value"].as_str().expect("words");
        assert!(words.contains("Parts.Planar.Rod rod"), "{words}");
    }
}
