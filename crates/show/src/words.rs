//! Counts, numbers and cut texts as people write them.

/// `1 equation`, `2 equations`.
pub fn count(number: usize, word: &str) -> String {
    if number == 1 {
        format!("1 {word}")
    } else {
        format!("{number} {word}s")
    }
}

/// `first`, `second`, …, `11th`.
pub fn ordinal(number: usize) -> String {
    let words = [
        "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth",
        "tenth",
    ];
    match number.checked_sub(1).and_then(|at| words.get(at)) {
        Some(word) => word.to_string(),
        None => format!("{number}th"),
    }
}

/// A time as it is told: without the last digits where these are only the rounding of a short number, as in
/// 0.020000000000000004.
pub fn told_time(time: f64) -> f64 {
    let rounded: f64 = format!("{time:.8e}").parse().unwrap_or(time);
    match (rounded - time).abs() <= 4096.0 * f64::EPSILON * time.abs() {
        true => rounded,
        false => time,
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
    if value.abs() < 512.0 * f64::EPSILON {
        return "0".to_string();
    }
    let rounded: f64 = format!("{value:.9e}").parse().unwrap_or(value);
    if (-5.0..10.0).contains(&rounded.abs().log10()) {
        rounded.to_string()
    } else {
        format!("{rounded:e}")
    }
}

/// Two digits of an error or a residual, whose size alone counts: `0`, `2.8`, `7.4e-16`.
pub fn magnitude(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_string(),
        size if (0.1..100.0).contains(&size) => format!("{value:.1}"),
        _ => format!("{value:.1e}"),
    }
}

/// A number with at most six digits, as people write it.
pub fn short(value: f64) -> String {
    let size = value.abs();
    // Below the rounding of a rounding nothing but zero was meant.
    if size < f64::EPSILON * f64::EPSILON {
        return "0".to_string();
    }
    let exponent = size.log10();
    if (-4.0..6.0).contains(&exponent) {
        let digits = (5 - exponent.floor() as i32).clamp(0, 10) as usize;
        let text = format!("{value:.digits$}");
        if text.contains('.') {
            return text.trim_end_matches('0').trim_end_matches('.').to_string();
        }
        text
    } else {
        format!("{value:.4e}")
    }
}

/// A unit of Modelica as it is printed: `kg.m2` becomes kg·m².
pub fn unit_text(unit: &str) -> String {
    // The unit of the derivative of a velocity.
    let unit = unit.replace("/s/s", "/s2");
    let raised = |letter: char| match letter {
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '-' => '⁻',
        digit => digit
            .to_digit(10)
            .and_then(|digit| char::from_u32(0x2070 + digit))
            .unwrap_or(digit),
    };
    let mut text = String::new();
    let mut is_behind_letter = false;
    for letter in unit.chars() {
        match letter {
            '.' => text.push('·'),
            '-' | '0'..='9' if is_behind_letter => text.push(raised(letter)),
            letter => text.push(letter),
        }
        is_behind_letter =
            letter.is_alphabetic() || (is_behind_letter && matches!(letter, '-' | '0'..='9'));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_lose_what_is_only_rounding() {
        for (time, told) in [
            (0.020000000000000004, 0.02),
            (1.9999999999999991, 2.0),
            (1.5000000000001685, 1.5),
            (1.5446260000352114, 1.5446260000352114),
            (0.0, 0.0),
        ] {
            assert_eq!(told_time(time), told);
        }
    }

    #[test]
    fn units_are_printed_as_people_write_them() {
        for (unit, text) in [
            ("N.m", "N·m"),
            ("kg.m2", "kg·m²"),
            ("m/s2", "m/s²"),
            ("1/s", "1/s"),
            ("s-1", "s⁻¹"),
            ("m10", "m¹⁰"),
            ("m/s/s", "m/s²"),
        ] {
            assert_eq!(unit_text(unit), text);
        }
    }
}
