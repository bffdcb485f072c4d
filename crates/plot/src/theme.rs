//! Colours for a light and for a dark page.

use plotters::style::RGBColor;

/// Colours for a light or a dark page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Theme {
    /// Dark ink on white.
    #[default]
    Light,
    /// Light ink on near-black.
    Dark,
}

/// The colours of Okabe and Ito (2008) without black and yellow, which vanish on a light page.
const ON_LIGHT: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
];

/// The same colours in the order in which they stand out on a dark page, with yellow instead of the dark blue.
const ON_DARK: [RGBColor; 6] = [
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 178, 130),
    RGBColor(204, 121, 167),
    RGBColor(240, 228, 66),
    RGBColor(232, 112, 32),
];

/// Supports of the colour map viridis, from dark to light: even in lightness, safe for colour-blind readers and for grey prints.
const VIRIDIS: [RGBColor; 10] = [
    RGBColor(68, 1, 84),
    RGBColor(72, 40, 120),
    RGBColor(62, 74, 137),
    RGBColor(49, 104, 142),
    RGBColor(38, 130, 142),
    RGBColor(31, 158, 137),
    RGBColor(53, 183, 121),
    RGBColor(109, 205, 89),
    RGBColor(180, 222, 44),
    RGBColor(253, 231, 37),
];

/// Number of colours of curves before they repeat.
pub(crate) const N_COLOURS: usize = ON_LIGHT.len();

impl Theme {
    pub(crate) fn page(self) -> RGBColor {
        match self {
            Self::Light => RGBColor(255, 255, 255),
            Self::Dark => RGBColor(24, 26, 31),
        }
    }

    pub(crate) fn ink(self) -> RGBColor {
        match self {
            Self::Light => RGBColor(34, 34, 34),
            Self::Dark => RGBColor(226, 226, 226),
        }
    }

    /// For words and lines of less weight.
    pub(crate) fn faint_ink(self) -> RGBColor {
        mix(self.ink(), self.page(), 0.62)
    }

    pub(crate) fn grid(self) -> RGBColor {
        mix(self.ink(), self.page(), 0.13)
    }

    /// Where there is no value.
    pub(crate) fn missing(self) -> RGBColor {
        mix(self.ink(), self.page(), 0.3)
    }

    /// The colour of the curve with this number.
    pub(crate) fn colour(self, number: usize) -> RGBColor {
        let colours = match self {
            Self::Light => ON_LIGHT,
            Self::Dark => ON_DARK,
        };
        colours[number % N_COLOURS]
    }

    /// A soft colour of an area, so that curves can be seen over it.
    pub(crate) fn area(self, number: usize) -> RGBColor {
        // Beyond the palette the same hues return lighter.
        let weight = [0.55, 0.3, 0.8][number / N_COLOURS % 3];
        mix(self.colour(number), self.page(), weight)
    }

    /// From next to nothing, almost the page, to the most there is, for values from 0 to 1.
    pub(crate) fn amount(self, value: f64) -> RGBColor {
        mix(
            self.colour(0),
            self.page(),
            0.05 + 0.7 * value.clamp(0.0, 1.0),
        )
    }

    /// From one colour over the page to another, for values from -1 to 1.
    pub(crate) fn diverging(self, value: f64) -> RGBColor {
        let end = self.colour(usize::from(value < 0.0));
        mix(end, self.page(), 0.85 * value.abs().min(1.0))
    }
}

/// Viridis at a value from 0 to 1.
pub(crate) fn viridis(value: f64) -> RGBColor {
    let place = value.clamp(0.0, 1.0) * (VIRIDIS.len() - 1) as f64;
    let below = (place.floor() as usize).min(VIRIDIS.len() - 2);
    mix(VIRIDIS[below + 1], VIRIDIS[below], place - below as f64)
}

/// `weight` parts of a colour and the rest of another.
pub(crate) fn mix(colour: RGBColor, other: RGBColor, weight: f64) -> RGBColor {
    let part = |a: u8, b: u8| (f64::from(a) * weight + f64::from(b) * (1.0 - weight)).round() as u8;
    RGBColor(
        part(colour.0, other.0),
        part(colour.1, other.1),
        part(colour.2, other.2),
    )
}

/// Black or white, whichever can be read on a colour.
pub(crate) fn readable_on(colour: RGBColor) -> RGBColor {
    let RGBColor(r, g, b) = colour;
    let luma = 0.299 * f64::from(r) + 0.587 * f64::from(g) + 0.114 * f64::from(b);
    if luma > 140.0 {
        RGBColor(20, 20, 20)
    } else {
        RGBColor(250, 250, 250)
    }
}
