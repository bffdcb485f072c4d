//! What a picture shows.

use crate::map::Map;
use crate::matrix::MatrixDrawing;

/// Panels above each other, in one column or several.
#[derive(Clone, Debug)]
pub struct Figure {
    pub(crate) title: String,
    pub(crate) panels: Vec<Panel>,
    pub(crate) n_columns: usize,
    pub(crate) width: u32,
    pub(crate) panel_height: u32,
    /// The height of the whole picture; it then decides that of the panels.
    pub(crate) height: Option<u32>,
}

impl Figure {
    /// A figure without panels.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            panels: Vec::new(),
            n_columns: 1,
            width: 840,
            panel_height: 240,
            height: None,
        }
    }

    /// With one panel more, below the others.
    pub fn panel(mut self, panel: Panel) -> Self {
        self.panels.push(panel);
        self
    }

    /// With panels side by side, row by row.
    pub fn columns(mut self, n: usize) -> Self {
        self.n_columns = n.max(1);
        self
    }

    /// With this width, and panels of this height, in pixels.
    pub fn size(mut self, width: u32, panel_height: u32) -> Self {
        self.width = width;
        self.panel_height = panel_height;
        self.height = None;
        self
    }

    /// With this size of the whole picture, in pixels.
    pub fn whole_size(mut self, width: u32, height: u32) -> Self {
        self.width = width;
        self.height = Some(height);
        self
    }
}

/// How the values of an axis are spread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// By their decimal logarithms; values that are not positive are left out.
    Log,
}

/// Curves over one pair of axes, with a map below them if there is one; or a matrix.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    pub(crate) title: String,
    pub(crate) x_label: String,
    pub(crate) y_label: String,
    pub(crate) y_scale: Scale,
    pub(crate) x_scale: Scale,
    pub(crate) curves: Vec<Curve>,
    pub(crate) marks: Vec<TimeMark>,
    pub(crate) has_equal_axes: bool,
    pub(crate) is_bare: bool,
    pub(crate) x_limits: Option<(f64, f64)>,
    pub(crate) y_limits: Option<(f64, f64)>,
    pub(crate) map: Option<Map>,
    pub(crate) matrix: Option<MatrixDrawing>,
}

impl Panel {
    /// An empty panel.
    pub fn new(x_label: impl Into<String>, y_label: impl Into<String>) -> Self {
        Self {
            x_label: x_label.into(),
            y_label: y_label.into(),
            ..Self::default()
        }
    }

    /// A panel that shows a matrix. It is as high as its rows need.
    pub fn matrix(matrix: MatrixDrawing) -> Self {
        Self {
            matrix: Some(matrix),
            ..Self::default()
        }
    }

    /// With words above everything else.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// With one curve more.
    pub fn curve(mut self, curve: Curve) -> Self {
        self.curves.push(curve);
        self
    }

    /// With a vertical line at a value of the horizontal axis.
    pub fn mark(mut self, mark: TimeMark) -> Self {
        self.marks.push(mark);
        self
    }

    /// With a map below the curves. The axes show the map; curves are cut off at its edge.
    pub fn map(mut self, map: Map) -> Self {
        self.map = Some(map);
        self
    }

    /// With another scale of the vertical axis.
    pub fn y_scale(mut self, scale: Scale) -> Self {
        self.y_scale = scale;
        self
    }

    /// With another scale of the horizontal axis.
    pub fn x_scale(mut self, scale: Scale) -> Self {
        self.x_scale = scale;
        self
    }

    /// With the horizontal axis between two values; curves are cut off there.
    pub fn x_limits(mut self, low: f64, high: f64) -> Self {
        self.x_limits = Some((low, high));
        self
    }

    /// With the vertical axis between two values; curves are cut off there.
    pub fn y_limits(mut self, low: f64, high: f64) -> Self {
        self.y_limits = Some((low, high));
        self
    }

    /// With the same length for a unit on both axes, as drawings of mechanisms and circles need.
    pub fn equal_axes(mut self) -> Self {
        self.has_equal_axes = true;
        self
    }

    /// Without ticks and their numbers, for drawings whose plane is not that of their axes.
    pub fn bare(mut self) -> Self {
        self.is_bare = true;
        self
    }

    /// Whether any curve has a point that can be drawn, or there is a map or a matrix.
    pub fn shows_something(&self) -> bool {
        let is_seen = |&(x, y): &(f64, f64)| {
            crate::axis::place(x, self.x_scale).is_some()
                && crate::axis::place(y, self.y_scale).is_some()
        };
        self.map.is_some()
            || self.matrix.is_some()
            || self
                .curves
                .iter()
                .any(|curve| curve.points.iter().any(is_seen))
    }
}

/// How a curve is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stroke {
    /// A line through the points.
    Line,
    /// A dot at each point.
    Dots,
    /// A line with a dot at each point: the links and joints of a mechanism.
    Links,
    /// A square at each point: the joints of a mechanism that rest.
    Squares,
    /// The area that the points go round.
    Area,
}

/// Points in their order. A point that is not finite interrupts the curve.
#[derive(Clone, Debug)]
pub struct Curve {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) stroke: Stroke,
    pub(crate) colour: Option<usize>,
    pub(crate) is_ink: bool,
    pub(crate) is_dashed: bool,
    /// From 0, the page, to 1, the whole colour.
    pub(crate) strength: f64,
    /// Widths of an ordinary line.
    pub(crate) width: f64,
}

impl Curve {
    /// A line.
    pub fn line(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self {
            name: name.into(),
            points: points.into_iter().collect(),
            stroke: Stroke::Line,
            colour: None,
            is_ink: false,
            is_dashed: false,
            strength: 1.0,
            width: 1.0,
        }
    }

    /// The area between a lower and an upper value at each place, which ascend; places without both are left out.
    pub fn band(name: impl Into<String>, places: &[(f64, f64, f64)]) -> Self {
        let is_whole = |&&(x, low, high): &&(f64, f64, f64)| (x + low + high).is_finite();
        let places: Vec<&(f64, f64, f64)> = places.iter().filter(is_whole).collect();
        let above = places.iter().map(|&&(x, _, high)| (x, high));
        let below = places.iter().rev().map(|&&(x, low, _)| (x, low));
        Self::line(name, above.chain(below)).stroke(Stroke::Area)
    }

    /// Drawn in another way.
    pub fn stroke(mut self, stroke: Stroke) -> Self {
        self.stroke = stroke;
        self
    }

    /// In the colour with this number, instead of the next one.
    pub fn colour(mut self, number: usize) -> Self {
        self.colour = Some(number);
        self
    }

    /// In the colour of words, which takes none of the others.
    pub fn ink(mut self) -> Self {
        self.is_ink = true;
        self
    }

    /// With a part of its colour, from 0 for the page to 1.
    pub fn faded(mut self, strength: f64) -> Self {
        self.strength = strength.clamp(0.0, 1.0);
        self
    }

    /// This many times as wide as an ordinary line.
    pub fn width(mut self, width: f64) -> Self {
        self.width = width.clamp(0.1, 20.0);
        self
    }

    /// With a dashed line.
    pub fn dashed(mut self) -> Self {
        self.is_dashed = true;
        self
    }
}

/// A vertical line with a word above it. Lines with different words have different dashes.
#[derive(Clone, Debug)]
pub struct TimeMark {
    /// Where on the horizontal axis.
    pub at: f64,
    /// The word, for instance a kind of singularity.
    pub label: String,
}
