//! Prescribed motions: equations that the time enters and that are differentiated, so that the model is an inverse one.

use crate::equations::Equations;
use crate::structure::Structure;
use daelight_expr::Walker;
use daelight_lang::Symbol;

/// What a model prescribes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prescribed {
    /// The equations that prescribe a motion.
    pub equations: Vec<usize>,
    /// Unknowns that only give a name to a function of time, each with the equation that defines it; what a definition
    /// mentions stands before it.
    pub names: Vec<(usize, usize)>,
}

impl Prescribed {
    /// Finds the equations that hold the time, data or names of functions of time, and are differentiated.
    ///
    /// `times` says how often each equation is differentiated. A name is an unknown without a derivative in the model.
    pub fn new(equations: &Equations, structure: &Structure, times: &[usize]) -> Self {
        let n = equations.n_equations();
        let mut walker = Walker::new();
        let mut unknowns: Vec<Vec<usize>> = Vec::with_capacity(n);
        let mut has_time = Vec::with_capacity(n);
        let mut is_differentiated = vec![false; equations.n_unknowns()];
        for residual in equations.residuals() {
            let mut found = Vec::new();
            let mut time = false;
            for id in walker.symbols(equations.graph(), &[*residual]) {
                match equations.symbols().get(id) {
                    Symbol::Unknown { unknown, order } => {
                        found.push(unknown);
                        is_differentiated[unknown] |= order > 0;
                    }
                    Symbol::Time | Symbol::Input { .. } => time = true,
                    Symbol::Parameter(_) => {}
                }
            }
            unknowns.push(found);
            has_time.push(time);
        }
        let mut is_name = vec![false; equations.n_unknowns()];
        let mut names = Vec::new();
        loop {
            let before = names.len();
            for i in 0..n {
                let unknown = structure.transversal().unknown(i);
                let known = |j: &usize| *j == unknown || is_name[*j];
                let is_new = !is_name[unknown] && !is_differentiated[unknown];
                let of_time = has_time[i] || unknowns[i].len() > 1;
                if is_new && of_time && unknowns[i].iter().all(known) {
                    is_name[unknown] = true;
                    names.push((unknown, i));
                }
            }
            if names.len() == before {
                break;
            }
        }
        let prescribes = |i: &usize| {
            let timed = has_time[*i] || unknowns[*i].iter().any(|j| is_name[*j]);
            times[*i] > 0 && timed && !is_name[structure.transversal().unknown(*i)]
        };
        Self {
            equations: (0..n).filter(prescribes).collect(),
            names,
        }
    }

    /// Whether an unknown only gives a name to a function of time.
    pub fn is_name(&self, unknown: usize) -> bool {
        self.names.iter().any(|(name, _)| *name == unknown)
    }
}
