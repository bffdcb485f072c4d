//! Pictures of a mechanism for the page.

use super::unit_text;
use crate::{Bounds, Drawing, Frame};
use daelight_show::page::{Picture, Span, Stage};

/// What all pictures of these frames share; `None` where nothing can be drawn.
pub(super) fn stage<'a>(
    drawing: &Drawing<'_>,
    frames: impl IntoIterator<Item = &'a Frame>,
) -> Option<Stage> {
    let Bounds { min, max } = Bounds::of(frames)?;
    Some(Stage {
        min,
        max,
        fixed: drawing.fixed(),
        unit: drawing.unit().map(unit_text),
        axes: drawing.axes(),
    })
}

/// A still picture.
pub(super) fn picture(
    stage: &Stage,
    frame: &Frame,
    caption: Vec<Span>,
    description: impl Into<String>,
) -> Picture {
    Picture {
        stage: stage.clone(),
        frame: frame.clone(),
        ghosts: Vec::new(),
        caption,
        description: description.into(),
    }
}
