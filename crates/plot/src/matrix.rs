//! Cells in rows and columns: signature matrices, block-triangular forms, projectors.

/// A matrix as cells with words or shades.
#[derive(Clone, Debug, Default)]
pub struct MatrixDrawing {
    pub(crate) title: String,
    pub(crate) rows: Vec<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) cells: Vec<Cell>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) row_notes: Vec<String>,
    pub(crate) column_notes: Vec<String>,
    /// What the notes of the rows and of the columns are.
    pub(crate) note_titles: (String, String),
    pub(crate) legend: Vec<(Tone, String)>,
}

/// How a cell looks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Tone {
    /// An entry like others.
    Plain,
    /// An entry that stands out, such as one on the transversal.
    Strong,
    /// An entry of another kind.
    Second,
    /// A number from -1 to 1: one hue below zero, another above, stronger with its size.
    Value(f64),
}

/// An entry.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) row: usize,
    pub(crate) column: usize,
    pub(crate) label: String,
    pub(crate) tone: Tone,
}

/// A block to be framed: rows and columns, ends not included.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) rows: (usize, usize),
    pub(crate) columns: (usize, usize),
}

impl MatrixDrawing {
    /// An empty matrix with the names of its rows and columns.
    pub fn new(rows: impl Into<Vec<String>>, columns: impl Into<Vec<String>>) -> Self {
        Self {
            rows: rows.into(),
            columns: columns.into(),
            ..Self::default()
        }
    }

    /// With words above it.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// With one entry more; an entry outside the matrix is not shown.
    pub fn cell(mut self, row: usize, column: usize, label: impl Into<String>, tone: Tone) -> Self {
        if row < self.rows.len() && column < self.columns.len() {
            self.cells.push(Cell {
                row,
                column,
                label: label.into(),
                tone,
            });
        }
        self
    }

    /// With a frame around a block: rows and columns as (first, end), the end not included.
    pub fn block(mut self, rows: (usize, usize), columns: (usize, usize)) -> Self {
        let fits = rows.0 < rows.1
            && rows.1 <= self.rows.len()
            && columns.0 < columns.1
            && columns.1 <= self.columns.len();
        if fits {
            self.blocks.push(Block { rows, columns });
        }
        self
    }

    /// With a word beside each row, for instance its offset; the title says what they are.
    pub fn row_notes(mut self, title: impl Into<String>, notes: impl Into<Vec<String>>) -> Self {
        self.note_titles.0 = title.into();
        self.row_notes = notes.into();
        self
    }

    /// With a word below each column.
    pub fn column_notes(mut self, title: impl Into<String>, notes: impl Into<Vec<String>>) -> Self {
        self.note_titles.1 = title.into();
        self.column_notes = notes.into();
        self
    }

    /// With words for a tone below the matrix.
    pub fn legend(mut self, tone: Tone, words: impl Into<String>) -> Self {
        self.legend.push((tone, words.into()));
        self
    }
}
