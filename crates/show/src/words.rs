//! Counts, numbers and cut texts as people write them.

/// `1 equation`, `2 equations`.
pub fn count(number: usize, word: &str) -> String {
    if number == 1 {
        format!("1 {word}")
    } else {
        format!("{number} {word}s")
    }
}

/// A text cut to a width, with dots.
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_string();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// A number with at most ten digits; rounding around zero is zero.
pub fn tidy_number(value: f64) -> String {
    if value.abs() < 1e-13 {
        return "0".to_string();
    }
    let rounded: f64 = format!("{value:.9e}").parse().unwrap_or(value);
    if (1e-5..1e10).contains(&rounded.abs()) {
        rounded.to_string()
    } else {
        format!("{rounded:e}")
    }
}

/// A number with at most six digits, as people write it.
pub fn short(value: f64) -> String {
    let size = value.abs();
    if size < 1e-30 {
        return "0".to_string();
    }
    if (1e-4..1e6).contains(&size) {
        let digits = (5 - size.log10().floor() as i32).clamp(0, 10) as usize;
        let text = format!("{value:.digits$}");
        if text.contains('.') {
            return text.trim_end_matches('0').trim_end_matches('.').to_string();
        }
        text
    } else {
        format!("{value:.4e}")
    }
}
