//! Taylor coefficients of all unknowns at a time.

/// A truncated Taylor expansion of all unknowns: row k holds x^(k)/k!.
#[derive(Clone, Debug, PartialEq)]
pub struct TaylorJet {
    n_unknowns: usize,
    coefficients: Vec<f64>,
}

impl TaylorJet {
    /// The jet that stands still at `values`, with room for orders 0 to `n_orders - 1`.
    pub fn at_rest(values: &[f64], n_orders: usize) -> Self {
        let mut coefficients = vec![0.0; values.len() * n_orders.max(1)];
        coefficients[..values.len()].copy_from_slice(values);
        Self {
            n_unknowns: values.len(),
            coefficients,
        }
    }

    /// Number of unknowns.
    pub fn n_unknowns(&self) -> usize {
        self.n_unknowns
    }

    /// Number of coefficients of each unknown.
    pub fn n_orders(&self) -> usize {
        self.coefficients
            .len()
            .checked_div(self.n_unknowns)
            .unwrap_or(1)
    }

    /// Coefficient `order` of all unknowns, if there is room for it.
    pub fn row(&self, order: usize) -> Option<&[f64]> {
        let first = order * self.n_unknowns;
        self.coefficients.get(first..first + self.n_unknowns)
    }

    /// The values, coefficient 0.
    pub fn values(&self) -> &[f64] {
        &self.coefficients[..self.n_unknowns]
    }

    /// Coefficient `order` of an unknown; 0 beyond the room.
    pub fn get(&self, unknown: usize, order: usize) -> f64 {
        self.row(order).map_or(0.0, |row| row[unknown])
    }

    /// Sets a coefficient.
    ///
    /// # Panics
    ///
    /// When there is no room for the order.
    pub fn set(&mut self, unknown: usize, order: usize, value: f64) {
        self.coefficients[order * self.n_unknowns + unknown] = value;
    }

    /// The derivative x^(order) of an unknown.
    pub fn derivative(&self, unknown: usize, order: usize) -> f64 {
        let factorial: f64 = (1..=order).map(|k| k as f64).product();
        factorial * self.get(unknown, order)
    }

    /// The same a distance aside, by the coefficients there are.
    pub fn derivative_beside(&self, unknown: usize, order: usize, aside: f64) -> f64 {
        let mut sum = 0.0;
        for k in (order..self.n_orders()).rev() {
            let falling: f64 = (k - order + 1..=k).map(|m| m as f64).product();
            sum = sum * aside + falling * self.get(unknown, k);
        }
        sum
    }

    /// Changes the room, filling with zeros.
    pub fn resize(&mut self, n_orders: usize) {
        self.coefficients
            .resize(n_orders.max(1) * self.n_unknowns, 0.0);
    }

    /// Whether all coefficients of both are the same, relative to the larger of each pair.
    pub fn agrees(&self, other: &Self, within: f64) -> bool {
        let pairs = self.coefficients.iter().zip(&other.coefficients);
        self.coefficients.len() == other.coefficients.len()
            && pairs
                .into_iter()
                .all(|(a, b)| (a - b).abs() <= within * a.abs().max(b.abs()))
    }

    /// Whether every coefficient is a finite number.
    pub fn is_finite(&self) -> bool {
        self.coefficients.iter().all(|c| c.is_finite())
    }
}
