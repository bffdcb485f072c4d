//! Drawings of mechanisms as SVG: rods, joints, what rests, a scale; still or moving.

use super::Inline;
use super::html::{Writer, json};
use crate::scene::{Backdrop, Frame, Rectangle, Scene};
use crate::words::{short, unit_text};
use daelight_plot::TimeMark;
use std::fmt::Write;

/// A still drawing.
#[derive(Clone, Debug)]
pub struct Still {
    /// What it shares with others.
    pub stage: Backdrop,
    /// The mechanism.
    pub frame: Frame,
    /// The same at other instants, faint.
    pub ghosts: Vec<Frame>,
    /// What it shows.
    pub caption: Vec<Inline>,
    /// The same for those who cannot see it.
    pub description: String,
}

impl Still {
    /// A picture of one instant of a scene.
    pub fn new(scene: &Scene, at: usize, caption: String) -> Self {
        Self {
            stage: scene.stage.clone(),
            frame: scene.frames[at].clone(),
            ghosts: Vec::new(),
            caption: vec![Inline::text(caption.clone())],
            description: caption,
        }
    }
}

/// A moving drawing.
#[derive(Clone, Debug)]
pub struct Film {
    /// The mechanism at ascending times.
    pub scene: Scene,
    /// Times to be marked.
    pub marks: Vec<TimeMark>,
    /// What it shows.
    pub caption: Vec<Inline>,
    /// The same for those who cannot see it.
    pub description: String,
}

/// Sizes in pixels of the picture.
struct Size {
    width: f64,
    max_height: f64,
    margin: f64,
    joint: f64,
}

const LARGE: Size = Size {
    width: 560.0,
    max_height: 460.0,
    margin: 30.0,
    joint: 4.5,
};
const SMALL: Size = Size {
    width: 250.0,
    max_height: 250.0,
    margin: 22.0,
    joint: 3.0,
};

/// Points of all frames of a film together, so that the page stays below 600 kB.
const MOST_POINTS: usize = 9_000;

/// Frames that are seen at once behind a moving drawing, and on paper.
const GHOSTS: usize = 7;

/// From the plane of the mechanism to the pixels of a picture.
struct View {
    scale: f64,
    height: f64,
    /// The picture's pixel of the origin.
    origin: [f64; 2],
}

impl View {
    fn new(stage: &Backdrop, size: &Size) -> Self {
        let Rectangle { min, max } = stage.bounds;
        let mut extent = [max[0] - min[0], max[1] - min[1]];
        let largest = extent[0].max(extent[1]);
        let least = if largest > 0.0 { 0.12 * largest } else { 1.0 };
        extent = extent.map(|length| length.max(least));
        let inner = [size.width, size.max_height].map(|pixels| pixels - 2.0 * size.margin);
        let scale = (inner[0] / extent[0]).min(inner[1] / extent[1]);
        let height = extent[1] * scale + 2.0 * size.margin + 16.0;
        let middle = [0, 1].map(|k| 0.5 * (min[k] + max[k]));
        Self {
            scale,
            height,
            origin: [
                0.5 * size.width - scale * middle[0],
                0.5 * (height - 16.0) + scale * middle[1],
            ],
        }
    }

    /// A point in pixels, to a tenth; `None` if it is not finite.
    fn place(&self, point: [f64; 2]) -> Option<[f64; 2]> {
        let x = self.origin[0] + self.scale * point[0];
        let y = self.origin[1] - self.scale * point[1];
        let tenth = |pixel: f64| (10.0 * pixel).round() / 10.0;
        (x.abs() < 1e6 && y.abs() < 1e6).then(|| [tenth(x), tenth(y)])
    }

    /// The path of a polyline; it is interrupted where a point is missing.
    fn path(&self, line: impl IntoIterator<Item = [f64; 2]>) -> String {
        let mut path = String::new();
        let mut is_begun = false;
        for point in line {
            match self.place(point) {
                Some([x, y]) => {
                    let letter = if is_begun { 'L' } else { 'M' };
                    let _ = write!(path, "{letter}{x} {y}");
                    is_begun = true;
                }
                None => is_begun = false,
            }
        }
        path
    }
}

impl Backdrop {
    /// Rods of one frame.
    fn rods(&self, view: &View, frame: &Frame, to: &mut Writer) {
        for (k, line) in frame.iter().enumerate() {
            let class = if self.is_guide(k) {
                "guide".to_string()
            } else {
                format!("rod c{}", k % 6)
            };
            to.open_close(
                "path",
                &[("class", &class), ("d", &view.path(line.iter().copied()))],
            );
        }
    }

    /// Joints of one frame, those that rest as squares.
    fn joints(&self, view: &View, frame: &Frame, size: &Size, to: &mut Writer) {
        let mut index = 0;
        let r = size.joint;
        for (k, line) in frame.iter().enumerate() {
            for (j, point) in line.iter().enumerate() {
                let number = index.to_string();
                index += 1;
                if self.is_guide(k) {
                    continue;
                }
                let [x, y] = view.place(*point).unwrap_or([-1e3, -1e3]);
                if self.is_fixed(k, j) {
                    let side = format!("{}", 2.0 * r + 1.0);
                    let [left, top] = [x, y].map(|at| format!("{:.1}", at - r - 0.5));
                    to.open_close(
                        "rect",
                        &[
                            ("class", "ground"),
                            ("x", &left),
                            ("y", &top),
                            ("width", &side),
                            ("height", &side),
                        ],
                    );
                } else {
                    let class = format!("joint c{}", k % 6);
                    let [x, y] = [x, y].map(|at| at.to_string());
                    to.open_close(
                        "circle",
                        &[
                            ("class", &class),
                            ("data-k", &number),
                            ("cx", &x),
                            ("cy", &y),
                            ("r", &r.to_string()),
                        ],
                    );
                }
            }
        }
    }

    /// A length to compare with, and the directions of the axes in space.
    fn scale(&self, view: &View, size: &Size, to: &mut Writer) {
        let most = 0.3 * size.width / view.scale;
        let power = 10f64.powf(most.log10().floor());
        let factor = [5.0, 2.0, 1.0].into_iter().find(|f| f * power <= most);
        let length = factor.unwrap_or(1.0) * power;
        let (left, y) = (10.0, view.height - 9.0);
        let right = left + length * view.scale;
        let path = format!(
            "M{left} {:.1}V{:.1}M{left} {y:.1}H{right:.1}M{right:.1} {:.1}V{:.1}",
            y - 4.0,
            y + 4.0,
            y - 4.0,
            y + 4.0
        );
        to.open_close("path", &[("class", "scale"), ("d", &path)]);
        let unit =
            (self.unit.as_ref()).map_or(String::new(), |unit| format!(" {}", unit_text(unit)));
        let at = [format!("{:.1}", right + 7.0), format!("{:.1}", y + 4.0)];
        let length: f64 = format!("{length:.3e}").parse().unwrap_or(length);
        to.element(
            "text",
            &[("class", "note"), ("x", &at[0]), ("y", &at[1])],
            &format!("{length}{unit}"),
        );
        let Some(axes) = self.axes else { return };
        let centre = [size.width - 34.0, view.height - 30.0];
        for (name, axis) in ["x", "y", "z"].into_iter().zip(axes) {
            let [x, y] = [centre[0] + 22.0 * axis[0], centre[1] - 22.0 * axis[1]];
            let path = format!("M{} {}L{x:.1} {y:.1}", centre[0], centre[1]);
            to.open_close("path", &[("class", "scale"), ("d", &path)]);
            let at = [
                format!("{:.1}", centre[0] + 30.0 * axis[0] - 3.0),
                format!("{:.1}", centre[1] - 30.0 * axis[1] + 4.0),
            ];
            to.element(
                "text",
                &[("class", "note"), ("x", &at[0]), ("y", &at[1])],
                name,
            );
        }
    }

    fn open_svg(&self, view: &View, size: &Size, description: &str, to: &mut Writer) {
        let seen = format!("0 0 {} {:.0}", size.width, view.height);
        let width = format!("{}", size.width);
        let height = format!("{:.0}", view.height);
        to.open(
            "svg",
            &[
                ("xmlns", "http://www.w3.org/2000/svg"),
                ("class", "sketch"),
                ("viewBox", &seen),
                ("width", &width),
                ("height", &height),
                ("role", "img"),
                ("aria-label", description),
            ],
        );
    }
}

impl Still {
    pub(crate) fn write(&self, is_small: bool, to: &mut Writer) {
        let size = if is_small { &SMALL } else { &LARGE };
        let stage = &self.stage;
        let view = View::new(stage, size);
        to.open("figure", &[("class", "picture")]);
        stage.open_svg(&view, size, &self.description, to);
        if !self.ghosts.is_empty() {
            to.open("g", &[("class", "ghosts")]);
            for ghost in &self.ghosts {
                stage.rods(&view, ghost, to);
            }
            to.close("g");
        }
        stage.rods(&view, &self.frame, to);
        stage.joints(&view, &self.frame, size, to);
        stage.scale(&view, size, to);
        to.close("svg");
        to.open("figcaption", &[]);
        to.spans(&self.caption);
        to.close("figcaption");
        to.close("figure");
    }
}

impl Film {
    /// The scene with as many frames as keep the page small.
    fn thinned(&self) -> Scene {
        let n = self.scene.frames.len();
        let points: usize = self
            .scene
            .frames
            .first()
            .map_or(1, |f| f.iter().map(Vec::len).sum());
        let stride = (n * points).div_ceil(MOST_POINTS).max(1);
        let kept = || (0..n).filter(move |k| k % stride == 0 || k + 1 == n);
        Scene {
            stage: self.scene.stage.clone(),
            times: kept().map(|k| self.scene.times[k]).collect(),
            frames: kept().map(|k| self.scene.frames[k].clone()).collect(),
        }
    }

    /// The way of the last point of each polyline that moves.
    fn traces(&self, view: &View, to: &mut Writer) {
        let n_lines = self.scene.frames.first().map_or(0, Vec::len);
        let mut seen: Vec<String> = Vec::new();
        for k in (0..n_lines).filter(|k| !self.scene.stage.is_guide(*k)) {
            let frames = self.scene.frames.iter();
            let ends = frames.filter_map(|frame| frame[k].last().copied());
            let path = view.path(ends);
            if !seen.contains(&path) {
                to.open_close("path", &[("class", "trace"), ("d", &path)]);
                seen.push(path);
            }
        }
    }

    pub(crate) fn write(&self, number: usize, to: &mut Writer) {
        let (Some(first), Some(last)) = (self.scene.times.first(), self.scene.times.last()) else {
            return;
        };
        let scene = self.thinned();
        let stage = &scene.stage;
        let view = View::new(stage, &LARGE);
        to.open(
            "figure",
            &[("class", "film"), ("id", &format!("film-{number}"))],
        );
        stage.open_svg(&view, &LARGE, &self.description, to);
        self.traces(&view, to);
        to.open("g", &[("class", "ghosts")]);
        let n = scene.frames.len();
        for k in 0..GHOSTS.min(n) {
            let at = if GHOSTS.min(n) > 1 {
                k * (n - 1) / (GHOSTS.min(n) - 1)
            } else {
                0
            };
            stage.rods(&view, &scene.frames[at], to);
        }
        to.close("g");
        to.open("g", &[("class", "now")]);
        stage.rods(&view, &scene.frames[0], to);
        stage.joints(&view, &scene.frames[0], &LARGE, to);
        to.close("g");
        stage.scale(&view, &LARGE, to);
        to.close("svg");
        controls(number, n, *first, to);
        to.open("figcaption", &[]);
        to.spans(&self.caption);
        to.element(
            "span",
            &[("class", "paper")],
            &format!(
                " Faint: {} instants from t = {} to {}.",
                GHOSTS.min(n),
                short(*first),
                short(*last)
            ),
        );
        to.close("figcaption");
        let frame = |frame: &Frame| -> Vec<Option<[f64; 2]>> {
            frame
                .iter()
                .flatten()
                .map(|point| view.place(*point))
                .collect()
        };
        let lengths: Vec<usize> = scene.frames[0].iter().map(Vec::len).collect();
        let data = serde_json::json!({
            "times": scene.times,
            "lengths": lengths,
            "frames": scene.frames.iter().map(frame).collect::<Vec<_>>(),
            "marks": self.marks.iter().map(|m| serde_json::json!([m.at, m.label])).collect::<Vec<_>>(),
        });
        to.raw(&json("data", &data));
        to.close("figure");
    }
}

/// What plays a film of `n` frames.
fn controls(number: usize, n: usize, first: f64, to: &mut Writer) {
    to.open("div", &[("class", "controls"), ("hidden", "")]);
    to.element("button", &[("type", "button"), ("class", "play")], "Play");
    let id = format!("scrub-{number}");
    to.element(
        "label",
        &[("for", &id), ("class", "unseen")],
        "Time of the drawing",
    );
    to.open_close(
        "input",
        &[
            ("type", "range"),
            ("id", &id),
            ("min", "0"),
            ("max", &(n - 1).to_string()),
            ("step", "1"),
            ("value", "0"),
        ],
    );
    to.element("output", &[("for", &id)], &format!("t = {first}"));
    to.element("label", &[("for", &format!("pace-{number}"))], "Speed");
    to.open("select", &[("id", &format!("pace-{number}"))]);
    for (value, name) in [("0.25", "¼"), ("1", "1"), ("4", "4")] {
        let chosen: &[(&str, &str)] = if value == "1" {
            &[("value", value), ("selected", "")]
        } else {
            &[("value", value)]
        };
        to.element("option", chosen, &format!("× {name}"));
    }
    to.close("select");
    to.close("div");
}
