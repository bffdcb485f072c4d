//! What curves do between the times at which they are drawn: their least and largest values around each.

use daelight::NamedRows;

/// Steps of a run are looked at so many times each, and all of them at most so many.
const LOOKS: (usize, usize) = (8, 24_000);

/// The times of a run of so many steps between those at which it is drawn, and these; none where there are as many of them as steps.
pub fn between(times: &[f64], n_steps: usize) -> Vec<f64> {
    let (each, most) = LOOKS;
    let n = times.len().max(1);
    if n_steps <= n {
        return Vec::new();
    }
    let parts = (each * n_steps).min(most).div_ceil(n).max(2);
    let share = |k: usize| k as f64 / parts as f64;
    let gaps = times.windows(2);
    let inside = gaps.flat_map(|gap| {
        let (from, to) = (gap[0], gap[1]);
        (0..parts).map(move |k| from + (to - from) * share(k))
    });
    inside.chain(times.last().copied()).collect()
}

/// The least and the largest value of a column around each of the times, up to halfway to the next.
pub fn extents(
    times: &[f64],
    (names, rows): &NamedRows,
    column: &str,
) -> Option<(Vec<f64>, Vec<f64>)> {
    let column = names.iter().position(|name| name == column)?;
    let mut low = vec![f64::NAN; times.len()];
    let mut high = low.clone();
    let mut at = 0;
    for (time, values) in rows {
        let is_closer = |at: usize| (times[at + 1] - time).abs() <= (times[at] - time).abs();
        while at + 1 < times.len() && is_closer(at) {
            at += 1;
        }
        let (least, largest) = (low.get_mut(at)?, high.get_mut(at)?);
        // Of a number and none, the number.
        *least = least.min(values[column]);
        *largest = largest.max(values[column]);
    }
    Some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_between_two_times_is_seen() {
        let times = [0.0, 1.0, 2.0];
        let all = between(&times, 100);
        assert!(all.len() > 200 && all.first() == Some(&0.0) && all.last() == Some(&2.0));
        let wave = |t: f64| (t, vec![(40.0 * t).sin()]);
        let rows = (vec!["x".to_string()], all.into_iter().map(wave).collect());
        let (low, high) = extents(&times, &rows, "x").expect("a column");
        assert!(low.iter().all(|v| *v < -0.99) && high.iter().all(|v| *v > 0.99));
        assert!(extents(&times, &rows, "y").is_none() && between(&times, 3).is_empty());
    }
}
