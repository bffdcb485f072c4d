//! The mechanism pulled by a point of its drawing.

use super::{Answered, frame_value, number, numbers, read, wrong};
use crate::folder::Folder;
use crate::question::PageQuestion;
use daelight::{Pulled, Relations};
use serde_json::json;
use std::cell::RefCell;

/// What a mechanism is pulled by, and the mechanism: a drag asks for the same one again and again.
type Kept = Option<(PageQuestion, Pulled)>;

thread_local! {
    static KEPT: RefCell<Kept> = const { RefCell::new(None) };
}

fn is_same(a: &PageQuestion, b: &PageQuestion) -> bool {
    a.vertex == b.vertex && a.set == b.set && a.name == b.name && a.text == b.text
}

/// Where the mechanism is when a point is pulled towards a place.
pub fn pull(question: &PageQuestion, folder: &Folder) -> Answered {
    KEPT.with_borrow_mut(|kept| {
        if !kept.as_ref().is_some_and(|(old, _)| is_same(old, question)) {
            let loaded = read(question, folder, Relations::Modes);
            let model = loaded.model.as_ref().ok_or_else(|| wrong(&loaded))?;
            let (line, point) = question.vertex;
            let rests = json!({ "refused": "This point rests: nothing that moves carries it." });
            let pulled = Pulled::new(model, line, point).ok_or(rests)?;
            *kept = Some((question.clone(), pulled));
        }
        let stays = json!({ "refused": "The mechanism cannot follow: its constraints hold it." });
        let Some((_, pulled)) = kept else {
            return Err(stays);
        };
        let found = pulled.to(question.time, &question.values, question.target);
        let found = found.ok_or(stays)?;
        Ok(json!({
            "values": numbers(found.values.iter().copied()),
            "frame": frame_value(&found.frame),
            "margin": found.margin.map(number),
            "is_free": found.is_free,
        }))
    })
}
