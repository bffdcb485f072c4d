//! Drawing a matrix.

use crate::canvas::{Anchor, Canvas, cut, text_width};
use crate::matrix::{Cell, MatrixDrawing, Tone};
use crate::svg::{Area, WORDS};
use crate::theme::{Theme, mix, readable_on};
use plotters::style::RGBColor;

/// Sizes of a cell, in pixels.
const LARGEST_CELL: f64 = 30.0;
/// Below this, cells have no words, and below the other one rows and columns have no names.
const CELL_WITH_WORDS: f64 = 15.0;
const CELL_WITH_NAMES: f64 = 11.0;
/// Most room for names of rows and columns.
const MOST_ROW_NAME: f64 = 300.0;
const MOST_COLUMN_NAME: f64 = 120.0;
const LEGEND_LINE: f64 = 22.0;

/// Where the parts of a matrix lie, relative to its panel.
struct Layout {
    cell: f64,
    /// Room for the names of rows, and for those of columns.
    left: f64,
    top: f64,
    has_row_names: bool,
    has_upright_names: bool,
    /// Room for notes to the right and below.
    right: f64,
    bottom: f64,
    words: f64,
}

fn widest<'a>(words: impl IntoIterator<Item = &'a String>, size: f64) -> f64 {
    words
        .into_iter()
        .map(|word| text_width(word, size))
        .fold(0.0, f64::max)
}

fn layout(matrix: &MatrixDrawing, width: f64) -> Layout {
    let n_columns = matrix.columns.len().max(1) as f64;
    let notes = match widest(&matrix.row_notes, WORDS).max(text_width(&matrix.note_titles.0, WORDS))
    {
        0.0 => 0.0,
        notes => notes + 14.0,
    };
    // What the largest cells leave is free for names.
    let free = width - notes - 44.0 - n_columns * LARGEST_CELL;
    let most_names = MOST_ROW_NAME.min(0.45 * width).max(free);
    let names = widest(&matrix.rows, WORDS).min(most_names);
    let room = |left: f64| width - left - notes - 32.0;
    let mut left = names + 12.0;
    let mut cell = (room(left) / n_columns).min(LARGEST_CELL);
    if cell < CELL_WITH_NAMES {
        left = 16.0;
        cell = (room(left) / n_columns).min(LARGEST_CELL);
    }
    let has_row_names = left > 16.0;
    let cell = (cell * 10.0).floor() / 10.0;
    let words = (0.62 * cell).min(WORDS);
    let has_names = cell >= CELL_WITH_NAMES;
    let column_names = widest(&matrix.columns, words);
    let has_upright_names = column_names > cell - 4.0;
    let names_above = match (has_names, has_upright_names) {
        (false, _) => 8.0,
        (true, false) => 20.0,
        (true, true) => column_names.min(MOST_COLUMN_NAME) + 12.0,
    };
    let title = if matrix.title.is_empty() { 0.0 } else { 24.0 };
    let has_notes_below = !matrix.column_notes.is_empty();
    let bottom = if has_notes_below { 24.0 } else { 6.0 };
    Layout {
        cell,
        left,
        top: title + names_above,
        has_row_names,
        has_upright_names,
        right: notes,
        bottom,
        words,
    }
}

/// The lines of the legend below a matrix.
fn legend_lines(matrix: &MatrixDrawing, width: f64) -> Vec<(f64, usize)> {
    let (mut x, mut line) = (0.0, 0);
    let mut places = Vec::new();
    for (_, words) in &matrix.legend {
        let length = 22.0 + text_width(words, WORDS) + 18.0;
        if x > 0.0 && x + length > width - 32.0 {
            (x, line) = (0.0, line + 1);
        }
        places.push((x, line));
        x += length;
    }
    places
}

/// The height that a matrix needs in a panel of this width.
pub(crate) fn natural_height(matrix: &MatrixDrawing, width: f64) -> f64 {
    let layout = layout(matrix, width);
    let legend = legend_lines(matrix, width)
        .last()
        .map_or(0.0, |last| (last.1 + 1) as f64 * LEGEND_LINE);
    let rows = matrix.rows.len().max(1) as f64 * layout.cell;
    (layout.top + rows + layout.bottom + legend + 14.0).ceil()
}

/// The title over the middle of a matrix, within its panel.
fn title(words: &str, middle: f64, area: Area, theme: Theme, canvas: &mut Canvas) {
    let title = cut(words, WORDS, area.width() - 16.0);
    let half = 0.5 * text_width(&title, WORDS) + 8.0;
    let middle = middle.min(area.right - half).max(area.left + half);
    let place = (middle, area.top + 12.0);
    canvas.text(&title, place, Anchor::Middle, WORDS, theme.ink());
}

/// An entry in its colour, with its word where there is room for it.
fn entry(
    found: &Cell,
    (from, to): ((f64, f64), (f64, f64)),
    (cell, words): (f64, f64),
    theme: Theme,
    canvas: &mut Canvas,
) {
    let colour = tone_colour(found.tone, theme);
    let gap = if cell >= 8.0 { 1.0 } else { 0.0 };
    let (from_inside, to_inside) = ((from.0 + gap, from.1 + gap), (to.0 - gap, to.1 - gap));
    canvas.fill(from_inside, to_inside, colour);
    if cell >= CELL_WITH_WORDS && text_width(&found.label, words) <= cell + 1.0 {
        let middle = (0.5 * (from.0 + to.0), 0.5 * (from.1 + to.1));
        let ink = readable_on(colour);
        canvas.text(&found.label, middle, Anchor::Middle, words, ink);
    }
}

pub(crate) fn draw(matrix: &MatrixDrawing, area: Area, theme: Theme, canvas: &mut Canvas) {
    let mut layout = layout(matrix, area.width());
    let needed = natural_height(matrix, area.width());
    if needed > area.height() + 1.0 {
        let spare = needed - matrix.rows.len() as f64 * layout.cell;
        let cell = (area.height() - spare) / matrix.rows.len().max(1) as f64;
        layout.cell = cell.max(1.0);
        layout.words = (0.62 * layout.cell).min(WORDS);
    }
    let Layout { cell, words, .. } = layout;
    let (n_rows, n_columns) = (matrix.rows.len(), matrix.columns.len());
    // In the middle of the panel.
    let used = layout.left + n_columns as f64 * cell + layout.right + 16.0;
    let left = (area.left + layout.left + (0.5 * (area.width() - used)).max(0.0)).round();
    let top = (area.top + layout.top).round();
    let right = left + n_columns as f64 * cell;
    let bottom = top + n_rows as f64 * cell;
    let corner = |row: usize, column: usize| (left + column as f64 * cell, top + row as f64 * cell);
    if !matrix.title.is_empty() {
        title(&matrix.title, 0.5 * (left + right), area, theme, canvas);
    }
    if cell >= 4.0 {
        for row in 1..n_rows {
            canvas.line(&[corner(row, 0), corner(row, n_columns)], theme.grid(), 0.8);
        }
        for column in 1..n_columns {
            let ends = [corner(0, column), corner(n_rows, column)];
            canvas.line(&ends, theme.grid(), 0.8);
        }
    }
    for found in &matrix.cells {
        let from = corner(found.row, found.column);
        let to = corner(found.row + 1, found.column + 1);
        entry(found, (from, to), (cell, words), theme, canvas);
    }
    for block in &matrix.blocks {
        let from = corner(block.rows.0, block.columns.0);
        let to = corner(block.rows.1, block.columns.1);
        canvas.outline(
            from,
            to,
            theme.colour(1),
            if cell >= 8.0 { 2.2 } else { 1.2 },
        );
    }
    canvas.outline((left, top), (right, bottom), theme.faint_ink(), 1.0);
    if cell >= CELL_WITH_NAMES {
        names(matrix, &layout, (left, top), theme, canvas);
    }
    legend(matrix, &area, bottom + layout.bottom + 12.0, theme, canvas);
}

/// The names and notes around the cells.
fn names(
    matrix: &MatrixDrawing,
    layout: &Layout,
    (left, top): (f64, f64),
    theme: Theme,
    canvas: &mut Canvas,
) {
    let Layout { cell, words, .. } = *layout;
    let (ink, faint) = (theme.ink(), theme.faint_ink());
    let right = left + matrix.columns.len() as f64 * cell;
    let bottom = top + matrix.rows.len() as f64 * cell;
    let middle = |number: usize| (number as f64 + 0.5) * cell;
    for (row, name) in (matrix.rows.iter().enumerate()).filter(|_| layout.has_row_names) {
        let name = cut(name, words, layout.left - 8.0);
        canvas.text(
            &name,
            (left - 7.0, top + middle(row)),
            Anchor::Right,
            words,
            ink,
        );
    }
    for (column, name) in matrix.columns.iter().enumerate() {
        let x = left + middle(column);
        if layout.has_upright_names {
            let name = cut(name, words, MOST_COLUMN_NAME);
            canvas.upward_text(&name, (x, top - 6.0), Anchor::Left, words, ink);
        } else {
            canvas.text(name, (x, top - 10.0), Anchor::Middle, words, ink);
        }
    }
    for (row, note) in matrix.row_notes.iter().enumerate().take(matrix.rows.len()) {
        canvas.text(
            note,
            (right + 8.0, top + middle(row)),
            Anchor::Left,
            words,
            faint,
        );
    }
    for (column, note) in matrix
        .column_notes
        .iter()
        .enumerate()
        .take(matrix.columns.len())
    {
        let place = (left + middle(column), bottom + 11.0);
        canvas.text(note, place, Anchor::Middle, words, faint);
    }
    let (beside, below) = &matrix.note_titles;
    canvas.text(
        beside,
        (right + 8.0, top - 10.0),
        Anchor::Left,
        words,
        faint,
    );
    canvas.text(
        below,
        (left - 7.0, bottom + 11.0),
        Anchor::Right,
        words,
        faint,
    );
}

fn legend(matrix: &MatrixDrawing, area: &Area, top: f64, theme: Theme, canvas: &mut Canvas) {
    let places = legend_lines(matrix, area.width());
    for ((tone, words), (x, line)) in matrix.legend.iter().zip(places) {
        let (x, y) = (area.left + 16.0 + x, top + line as f64 * LEGEND_LINE);
        canvas.fill((x, y - 7.0), (x + 14.0, y + 7.0), tone_colour(*tone, theme));
        canvas.text(words, (x + 20.0, y), Anchor::Left, WORDS, theme.ink());
    }
}

fn tone_colour(tone: Tone, theme: Theme) -> RGBColor {
    match tone {
        Tone::Plain => mix(theme.ink(), theme.page(), 0.2),
        Tone::Strong => theme.colour(0),
        Tone::Second => theme.colour(5),
        Tone::Value(value) if value.is_finite() => theme.diverging(value),
        Tone::Value(_) => theme.missing(),
    }
}
