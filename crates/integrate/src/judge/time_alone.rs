//! Which unknowns time and parameters alone determine: nothing is carried on in them, (R10a) of `docs/theory/runs.md`.

use crate::problem::Problem;
use daelight_analysis::structure::Block;

/// What time alone determines of each unknown.
pub(crate) struct TimeAlone {
    offsets: Vec<usize>,
    /// The derivatives from x_j^(d_j) on.
    tops: Vec<bool>,
    /// All of it: the values too.
    values: Vec<bool>,
}

impl TimeAlone {
    /// Goes through the blocks in the order in which they are solved.
    pub fn of(problem: &Problem) -> Self {
        let n = problem.n();
        let mut known = Self {
            offsets: (0..n).map(|j| problem.unknown_offset(j)).collect(),
            tops: vec![false; n],
            values: vec![false; n],
        };
        let equation_offsets = &problem.structure().offsets().equation;
        for block in problem.structure().blocks() {
            let sum = |of: &[usize], which: &[usize]| which.iter().map(|&k| of[k]).sum::<usize>();
            let n_differentiated = sum(equation_offsets, &block.equations);
            // As many constraints as there are states: none of them is free.
            let is_pinned = sum(&known.offsets, &block.unknowns) == n_differentiated;
            if !is_pinned && n_differentiated > 0 {
                continue;
            }
            if known.determine(problem, block, is_pinned) {
                for &j in &block.unknowns {
                    known.tops[j] = true;
                    known.values[j] = is_pinned;
                }
            }
        }
        known
    }

    /// Whether the equations of a block read nothing but what is known, or determined by themselves.
    fn determine(&self, problem: &Problem, block: &Block, is_pinned: bool) -> bool {
        let equations = problem.equations();
        (0..=equations.order()).all(|order| {
            let pattern = equations.pattern(order);
            let reads = block.equations.iter().flat_map(|&row| pattern.row(row));
            reads
                .map(|position| pattern.columns()[position] as usize)
                .all(|j| match block.unknowns.binary_search(&j) {
                    Ok(_) => is_pinned || order == self.offsets[j],
                    Err(_) => self.holds(j, order),
                })
        })
    }

    /// Whether time alone determines a derivative of an unknown.
    pub fn holds(&self, unknown: usize, order: usize) -> bool {
        self.values[unknown] || self.tops[unknown] && order >= self.offsets[unknown]
    }
}
