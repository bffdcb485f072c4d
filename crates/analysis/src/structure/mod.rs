//! What the pattern of a model tells: offsets, structural index, degrees of freedom, blocks.
//!
//! This is Pryce's Sigma-method (2001). Nothing here looks at numbers, except
//! [`SystemJacobian::evaluate`], which gives those that decide whether the answers hold: they do where the
//! system Jacobian is nonsingular. The formulas are in `docs/theory/structure.md`.
//!
//! ```
//! use daelight_analysis::structure::{SignatureMatrix, Structure};
//! use daelight_lang::{Options, load};
//!
//! let text = "model Pendulum  Real x, y, u, v, f;
//!             equation  der(x) = u;  der(y) = v;  der(u) = -f*x;  der(v) = -f*y - 9.81;
//!                       x^2 + y^2 = 1;  end Pendulum;";
//! let model = load("pendulum.mo", text.as_bytes(), &Options::default()).model.expect("the text is right");
//! let structure = Structure::of_signature(SignatureMatrix::from_model(&model))?;
//! assert_eq!(structure.structural_index(), 3);
//! assert_eq!(structure.n_degrees_of_freedom(), 2);
//! assert_eq!(structure.offsets().equation, [1, 1, 0, 0, 2]);
//! assert_eq!(structure.unknown_indices(), [1, 1, 2, 2, 3]);
//! # Ok::<(), daelight_analysis::structure::StructurallySingular>(())
//! ```

mod blocks;
mod jacobian;
mod offsets;
mod queue;
mod signature;
mod transversal;

pub use blocks::Block;
pub use jacobian::SystemJacobian;
pub use offsets::Offsets;
pub(crate) use signature::Walk;
pub use signature::{BadEntry, SignatureMatrix};
pub use transversal::{StructurallySingular, Transversal};

use crate::equations::Equations;
pub(crate) use blocks::{NONE, strong_components};
use daelight_linalg::{CscMat, LinalgError, Mat};
pub(crate) use signature::SparseRows;

/// Equations without derivatives that are written in them but cancel, and their structure.
///
/// Such a derivative lies beyond the offsets, so that its coefficients are not known when the equation is evaluated.
pub fn settled(mut equations: Equations) -> (Equations, Result<Structure, StructurallySingular>) {
    loop {
        let structure = match Structure::of_equations(&equations) {
            Ok(structure) => structure,
            Err(singular) => return (equations, Err(singular)),
        };
        // Each turn takes derivatives out of the equations, and more entries may turn out to be zero.
        let Offsets { equation, variable } = structure.offsets();
        match equations.without_cancelled(equation, variable) {
            Some(fewer) => equations = fewer,
            None => return (equations, Ok(structure)),
        }
    }
}

/// The structure of a square system that has a transversal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Structure {
    signature: SignatureMatrix,
    transversal: Transversal,
    offsets: Offsets,
    unknown_indices: Vec<usize>,
    pattern: SparseRows,
    blocks: Vec<Block>,
    /// The block of each equation and its place there.
    equation_place: Vec<(u32, u32)>,
    /// The block of each unknown and its place there.
    unknown_place: Vec<(u32, u32)>,
}

impl Structure {
    /// Analyses equations that may hold derivatives of any order.
    ///
    /// An unknown whose derivative in an equation is zero as an expression does not occur there, though it may be written.
    pub fn of_equations(equations: &Equations) -> Result<Self, StructurallySingular> {
        Self::of_signature(SignatureMatrix::from_equations(equations))
    }

    /// Analyses a signature matrix.
    pub fn of_signature(signature: SignatureMatrix) -> Result<Self, StructurallySingular> {
        let transversal = Transversal::find(&signature)?;
        let offsets = Offsets::smallest(&signature, &transversal);
        Ok(Self::with_offsets(signature, transversal, offsets))
    }

    /// The structure of equations that have their offsets from others: (3) must hold with them.
    ///
    /// `None` when no transversal is tight: the system Jacobian is then singular everywhere.
    pub(crate) fn inherited(equations: &Equations, offsets: Offsets) -> Option<Self> {
        let signature = SignatureMatrix::from_equations(equations);
        debug_assert!((0..signature.n_equations()).all(|i| {
            let mut row = signature.row(i);
            row.all(|(j, order)| offsets.equation[i] + order as usize <= offsets.variable[j])
        }));
        let transversal = Transversal::tight(&signature, &offsets)?;
        Some(Self::with_offsets(signature, transversal, offsets))
    }

    fn with_offsets(
        signature: SignatureMatrix,
        transversal: Transversal,
        offsets: Offsets,
    ) -> Self {
        let unknown_indices = offsets::unknown_indices(&signature, &transversal, &offsets);
        let all = signature.pattern();
        let (pattern, _) = all.filtered(|equation, at| {
            offsets.is_tight(equation, all.columns[at] as usize, signature.orders()[at])
        });
        let blocks = strong_components(&pattern, &transversal.owner).blocks(&transversal.column);
        let n = signature.n_equations();
        let mut equation_place = vec![(0, 0); n];
        let mut unknown_place = vec![(0, 0); n];
        for (block, members) in (0..).zip(&blocks) {
            for (place, &equation) in (0..).zip(&members.equations) {
                equation_place[equation] = (block, place);
            }
            for (place, &unknown) in (0..).zip(&members.unknowns) {
                unknown_place[unknown] = (block, place);
            }
        }
        Self {
            signature,
            transversal,
            offsets,
            unknown_indices,
            pattern,
            blocks,
            equation_place,
            unknown_place,
        }
    }

    /// Number of equations, which is that of unknowns.
    pub fn n(&self) -> usize {
        self.signature.n_equations()
    }

    /// The orders that all this was read from.
    pub fn signature(&self) -> &SignatureMatrix {
        &self.signature
    }

    /// A transversal of the highest value.
    pub fn transversal(&self) -> &Transversal {
        &self.transversal
    }

    /// The smallest offsets, or those inherited from the equations that these were made of.
    pub fn offsets(&self) -> &Offsets {
        &self.offsets
    }

    /// The smallest offsets, which inherited ones may exceed. Both have the same determinant.
    pub fn smallest_offsets(&self) -> Offsets {
        Offsets::smallest(&self.signature, &self.transversal)
    }

    /// The structural index, (7): an upper bound of the differentiation index where the system Jacobian is
    /// nonsingular, and worth nothing where it is singular.
    pub fn structural_index(&self) -> usize {
        let most = self.offsets.equation.iter().copied().max().unwrap_or(0);
        most + usize::from(self.offsets.variable.contains(&0))
    }

    /// Degrees of freedom, (6): how many initial values can be chosen where the system Jacobian is nonsingular.
    pub fn n_degrees_of_freedom(&self) -> u64 {
        self.transversal.value()
    }

    /// The index of each unknown, (8): 1 for a state or an unknown that no differentiation is needed for.
    pub fn unknown_indices(&self) -> &[usize] {
        &self.unknown_indices
    }

    /// The unknowns whose highest derivative stands in a row of the system Jacobian, ascending.
    pub fn jacobian_row(&self, equation: usize) -> impl ExactSizeIterator<Item = usize> {
        let row = self.pattern.row(equation).iter();
        row.map(|&unknown| unknown as usize)
    }

    /// Number of entries of the system Jacobian.
    pub fn n_jacobian_entries(&self) -> usize {
        self.pattern.columns.len()
    }

    /// The order of the derivative by which an entry of the system Jacobian is taken, d_j - c_i.
    pub fn jacobian_order(&self, equation: usize, unknown: usize) -> Option<u32> {
        let order = self.signature.order(equation, unknown)?;
        self.offsets
            .is_tight(equation, unknown, order)
            .then_some(order)
    }

    /// The finest blocks of the system Jacobian, each after those it depends on.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The block that an equation belongs to.
    pub fn block_of_equation(&self, equation: usize) -> usize {
        self.equation_place[equation].0 as usize
    }

    /// The block that determines an unknown.
    pub fn block_of_unknown(&self, unknown: usize) -> usize {
        self.unknown_place[unknown].0 as usize
    }

    /// The system Jacobian as a sparse matrix, from its values row by row.
    pub fn matrix(&self, values: &[f64]) -> Result<CscMat, LinalgError> {
        let triplets: Vec<(usize, usize, f64)> = (0..self.n())
            .flat_map(|row| self.pattern.range(row).map(move |at| (row, at)))
            .map(|(row, at)| (row, self.pattern.columns[at] as usize, values[at]))
            .collect();
        CscMat::from_triplets(self.n(), self.n(), &triplets)
    }

    /// A diagonal block of the system Jacobian, from the values of all its entries row by row.
    ///
    /// Rows and columns are in the order of [`Block::equations`] and [`Block::unknowns`].
    pub fn block_matrix(&self, block: usize, values: &[f64]) -> Mat {
        let members = &self.blocks[block];
        let n = members.equations.len();
        let mut matrix = Mat::zeros(n, n);
        let mut view = matrix.view_mut();
        for (place, &equation) in members.equations.iter().enumerate() {
            for at in self.pattern.range(equation) {
                let (other, column) = self.unknown_place[self.pattern.columns[at] as usize];
                if other as usize == block {
                    view.set(place, column as usize, values[at]);
                }
            }
        }
        matrix
    }
}
