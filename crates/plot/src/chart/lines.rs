//! Lines as they are drawn: thinned, simplified, cut at the frame.

use crate::canvas::Place;
use crate::svg::Area;

/// Curves with more points are thinned to those that can be seen.
const MANY_POINTS: usize = 4000;

pub(super) fn contains(frame: &Area, (x, y): Place) -> bool {
    (frame.left - 0.5..=frame.right + 0.5).contains(&x)
        && (frame.top - 0.5..=frame.bottom + 0.5).contains(&y)
}

/// A line with the points that can be seen: in each half pixel of its direction the first, lowest, highest and last.
pub(super) fn thinned(points: Vec<Place>) -> Vec<Place> {
    if points.len() <= MANY_POINTS {
        return points;
    }
    let is_monotonic = points.windows(2).all(|pair| pair[0].0 <= pair[1].0);
    let mut kept: Vec<Place> = Vec::new();
    if is_monotonic {
        let half_pixel = |point: &Place| (2.0 * point.0).floor() as i64;
        for group in points.chunk_by(|a, b| half_pixel(a) == half_pixel(b)) {
            let by_height = |a: &usize, b: &usize| group[*a].1.total_cmp(&group[*b].1);
            let all = || 0..group.len();
            let ends = [
                Some(0),
                all().min_by(by_height),
                all().max_by(by_height),
                Some(group.len() - 1),
            ];
            let mut ends: Vec<usize> = ends.into_iter().flatten().collect();
            ends.sort_unstable();
            ends.dedup();
            kept.extend(ends.into_iter().map(|place| group[place]));
        }
        return kept;
    }
    let last = points.len() - 1;
    for (number, point) in points.into_iter().enumerate() {
        let is_far = kept
            .last()
            .is_none_or(|kept| (kept.0 - point.0).hypot(kept.1 - point.1) > 0.4);
        if is_far || number == last {
            kept.push(point);
        }
    }
    kept
}

/// Points of a line are left out if it moves by less than this many pixels.
const UNSEEN: f64 = 0.06;

/// Lines are simplified in pieces of this many points, which bounds the work.
const PIECE: usize = 1000;

/// A line without the points that lie on it anyway (Douglas and Peucker 1973).
pub(super) fn simplified(points: &[Place]) -> Vec<Place> {
    let Some(&last) = points.last() else {
        return Vec::new();
    };
    let mut kept = Vec::new();
    let mut first = 0;
    while first + 1 < points.len() {
        let end = (first + PIECE).min(points.len() - 1);
        // Pieces between two points that are kept, the next one on top.
        let mut open = vec![(first, end)];
        while let Some((from, to)) = open.pop() {
            let farthest = (from + 1..to)
                .map(|at| (at, distance(points[at], points[from], points[to])))
                .max_by(|a, b| a.1.total_cmp(&b.1));
            match farthest {
                Some((at, distance)) if distance > UNSEEN => open.extend([(at, to), (from, at)]),
                _ => kept.push(points[from]),
            }
        }
        first = end;
    }
    kept.push(last);
    kept
}

/// How far a point is from the segment between two others.
fn distance(point: Place, from: Place, to: Place) -> f64 {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (px, py) = (point.0 - from.0, point.1 - from.1);
    let square = dx * dx + dy * dy;
    let share = if square > 0.0 {
        ((px * dx + py * dy) / square).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (px - share * dx).hypot(py - share * dy)
}

/// The parts of a line inside a frame.
pub(super) fn clipped(points: &[Place], frame: &Area) -> Vec<Vec<Place>> {
    let mut lines: Vec<Vec<Place>> = Vec::new();
    let mut is_open = false;
    for pair in points.windows(2) {
        let Some((from, to)) = clipped_segment(pair[0], pair[1], frame) else {
            is_open = false;
            continue;
        };
        match lines.last_mut() {
            Some(line) if is_open && from == pair[0] => line.push(to),
            _ => lines.push(vec![from, to]),
        }
        is_open = to == pair[1];
    }
    lines
}

/// The part of a segment inside a frame (Liang and Barsky 1984).
fn clipped_segment(from: Place, to: Place, frame: &Area) -> Option<(Place, Place)> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (mut enter, mut leave) = (0.0f64, 1.0f64);
    for (speed, room) in [
        (-dx, from.0 - frame.left),
        (dx, frame.right - from.0),
        (-dy, from.1 - frame.top),
        (dy, frame.bottom - from.1),
    ] {
        // Half a tenth of a pixel outside is inside: ends of ranges are rounded.
        let room = room + 0.05;
        if speed == 0.0 {
            if room < 0.0 {
                return None;
            }
        } else if speed < 0.0 {
            enter = enter.max(room / speed);
        } else {
            leave = leave.min(room / speed);
        }
    }
    let at = |share: f64| (from.0 + share * dx, from.1 + share * dy);
    let inside = enter <= leave;
    let start = if enter > 0.0 { at(enter) } else { from };
    let end = if leave < 1.0 { at(leave) } else { to };
    inside.then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Area = Area {
        left: 0.0,
        top: 0.0,
        right: 100.0,
        bottom: 100.0,
    };

    #[test]
    fn a_line_is_cut_at_the_frame() {
        let line = [
            (-50.0, 50.0),
            (50.0, 50.0),
            (50.0, 150.0),
            (150.0, 150.0),
            (150.0, 50.0),
            (60.0, 50.0),
        ];
        let parts = clipped(&line, &FRAME);
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0].len(), 3);
        assert!((parts[0][0].0 + 0.05).abs() < 1e-9);
        assert!((parts[1][0].0 - 100.05).abs() < 1e-9);
        assert!(clipped(&[(-1.0, -5.0), (200.0, -5.0)], &FRAME).is_empty());
    }

    #[test]
    fn a_simplified_line_stays_where_it_was() {
        let points: Vec<Place> = (0..=3000)
            .map(|i| 0.2 * f64::from(i))
            .map(|x| (x, 50.0 * (0.02 * x).sin()))
            .collect();
        let kept = simplified(&points);
        assert!(kept.len() < 200, "{}", kept.len());
        assert_eq!((kept.first(), kept.last()), (points.first(), points.last()));
        for &point in &points {
            let nearest = kept
                .windows(2)
                .map(|pair| distance(point, pair[0], pair[1]))
                .fold(f64::INFINITY, f64::min);
            assert!(nearest <= UNSEEN);
        }
        assert_eq!(simplified(&[]), []);
        assert_eq!(simplified(&points[..1]), points[..1]);
    }

    #[test]
    fn a_thinned_line_keeps_its_extremes() {
        let n = 100_000;
        let points: Vec<Place> = (0..n)
            .map(|i| {
                (
                    100.0 * f64::from(i) / f64::from(n),
                    if i == 777 { 99.0 } else { 1.0 },
                )
            })
            .collect();
        let kept = thinned(points);
        assert!(kept.len() < 1000);
        assert!(kept.iter().any(|point| point.1 == 99.0));
    }
}
