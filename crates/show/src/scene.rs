//! A mechanism at some instants: polylines on a plane, ready to be drawn. Pages and pictures draw it from here.

/// Polylines on a plane; a point that cannot be evaluated is not finite, and is not drawn.
pub type Frame = Vec<Vec<[f64; 2]>>;

/// The smallest upright rectangle around points.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rectangle {
    /// The lower left corner.
    pub min: [f64; 2],
    /// The upper right corner.
    pub max: [f64; 2],
}

impl Rectangle {
    /// The bounds of all finite points of some frames; `None` if there are none.
    pub fn of<'a>(frames: impl IntoIterator<Item = &'a Frame>) -> Option<Self> {
        let points = frames.into_iter().flatten().flatten();
        let finite = points.filter(|point| point.iter().all(|x| x.is_finite()));
        finite.fold(None, |bounds, &[x, y]| {
            let Self { min, max } = bounds.unwrap_or(Self {
                min: [x, y],
                max: [x, y],
            });
            Some(Self {
                min: [min[0].min(x), min[1].min(y)],
                max: [max[0].max(x), max[1].max(y)],
            })
        })
    }
}

/// What all drawings of a mechanism share, so that they can be compared.
#[derive(Clone, PartialEq, Debug)]
pub struct Backdrop {
    /// What is seen.
    pub bounds: Rectangle,
    /// Which points of which polylines rest.
    pub fixed: Vec<Vec<bool>>,
    /// The unit of lengths, as the model writes it.
    pub unit: Option<String>,
    /// The directions of x, y and z, for a mechanism in space.
    pub axes: Option<[[f64; 2]; 3]>,
}

impl Backdrop {
    /// Whether a polyline rests as a whole.
    pub fn is_guide(&self, line: usize) -> bool {
        let line = self.fixed.get(line);
        line.is_some_and(|line| line.iter().all(|fixed| *fixed))
    }

    /// Whether a point of a polyline rests.
    pub fn is_fixed(&self, line: usize, point: usize) -> bool {
        let line = self.fixed.get(line);
        line.and_then(|line| line.get(point)).is_some_and(|at| *at)
    }
}

/// A mechanism at some instants.
#[derive(Clone, PartialEq, Debug)]
pub struct Scene {
    /// What the instants share.
    pub stage: Backdrop,
    /// The time of each frame.
    pub times: Vec<f64>,
    /// The mechanism at these times.
    pub frames: Vec<Frame>,
}

impl Scene {
    /// Some of the instants, seen as close as they allow; `None` where nothing can be drawn.
    pub fn part(&self, instants: std::ops::Range<usize>) -> Option<Self> {
        let frames = self.frames.get(instants.clone())?.to_vec();
        Some(Self {
            stage: Backdrop {
                bounds: Rectangle::of(&frames)?,
                ..self.stage.clone()
            },
            times: self.times[instants].to_vec(),
            frames,
        })
    }
}
