//! Taylor coefficients by native code: one function for each stage, every sum written out.
//!
//! The stages are those of [`Tape::compile_staged`]. Up to stage 0 a function gives the roots at coefficients that are
//! known. Above it solves for the newest coefficients with matrices that the caller keeps inverted, and carries them
//! through, (3) of `docs/theory/integration.md`. Sums run in the order of the interpreters and are not fused, so that the
//! numbers are theirs.
//!
//! Coefficients of a register stand side by side in a row.

mod layout;
mod recurrences;
mod run;
mod stages;
mod writer;

pub use run::NativeSeries;

use crate::code::{CompileReport, Memory, NativeError, Tier, define, module, refused};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_module::Module;
use daelight_expr::Tape;
use layout::Layout;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;
use writer::{Functions, Numbers, Writer};

/// Blocks up to this size are multiplied with their inverses in the code itself.
const INLINE: usize = 6;

/// Series of more variables are moved faster in lanes.
const FEW: usize = 8;

/// A diagonal block of the matrix that the stages solve with, in the order in which blocks are solved.
#[derive(Clone, Debug)]
pub struct BlockShape {
    /// The roots whose coefficients it takes.
    pub roots: Vec<usize>,
    /// The variables that it gives.
    pub variables: Vec<usize>,
    /// Row within the block and variable of the entries that join it to earlier blocks.
    pub coupling: Vec<(usize, usize)>,
    /// Distance of the columns of its inverse.
    pub stride: usize,
}

impl BlockShape {
    /// How many numbers it takes: the inverse by columns, and the entries of the coupling.
    pub fn n_numbers(&self) -> usize {
        self.variables.len() * self.stride + self.coupling.len()
    }
}

/// What the series of a tape are for.
#[derive(Clone, Debug)]
pub struct SeriesShape<'a> {
    /// Number of stages above 0.
    pub n_stages: usize,
    /// How far the newest coefficient of each variable is ahead of the stage.
    pub offsets: &'a [usize],
    /// The matrix that the stages solve with.
    pub blocks: &'a [BlockShape],
}

/// The stages of a tape as native code; it can be shared by threads.
pub struct SeriesCode {
    tape: Arc<Tape>,
    memory: Memory,
    numbers: Vec<f64>,
    n_rows: usize,
    stride: usize,
    /// Whether a stage above 0 is one function, with the solution in it.
    is_fused: bool,
    /// Whether the last function moves series.
    shifts: bool,
    n_stages: usize,
    n_coefficients: usize,
    n_matrix: usize,
    report: CompileReport,
}

impl fmt::Debug for SeriesCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeriesCode")
            .field("is_fused", &self.is_fused)
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}

impl SeriesCode {
    /// Compiles the stages of a tape, or says why they are left to the interpreters.
    ///
    /// The time is proportional to the number of products in all sums.
    pub fn compile(
        tape: Arc<Tape>,
        shape: &SeriesShape<'_>,
        tier: Tier,
    ) -> Result<Self, NativeError> {
        let start = Instant::now();
        let layout = Layout::new(&tape, shape)?;
        let is_fused = shape.blocks.iter().all(|b| b.variables.len() <= INLINE);
        let mut memory = Memory::new(module(tier)?);
        let module = memory.module();
        let config = module.target_config();
        let mut functions = Functions {
            layout: &layout,
            numbers: Numbers::default(),
            sums: Vec::new(),
            convention: config.default_call_conv,
            config,
        };
        let mut context = module.make_context();
        let mut builder = FunctionBuilderContext::new();
        let mut ids = Vec::new();
        let mut n_bytes = 0;
        if layout.shares_sums {
            for n_terms in 0..=layout.stride {
                functions.write_sum(n_terms, &mut context.func, &mut builder);
                let (id, size) = define(module, &mut context)?;
                functions.sums.push(id);
                n_bytes += size;
            }
        }
        let mut write = |body: &mut dyn FnMut(&mut Writer<'_, '_, '_>)| {
            functions.write(&mut context.func, &mut builder, module, |writer| {
                body(writer);
            });
            let (id, size) = define(module, &mut context)?;
            ids.push(id);
            n_bytes += size;
            Ok::<(), NativeError>(())
        };
        for stage in tape.first_stage()..=0 {
            write(&mut |writer| {
                writer.evaluate(stage, true);
                writer.write_roots(stage);
            })?;
        }
        write(&mut |writer| writer.write_slopes())?;
        for stage in 1..=shape.n_stages {
            if is_fused {
                write(&mut |writer| {
                    writer.evaluate(stage as i32, true);
                    let solution = writer.solve(stage);
                    writer.correct(stage, &solution, true);
                })?;
                continue;
            }
            write(&mut |writer| {
                writer.evaluate(stage as i32, false);
                writer.write_right(stage);
            })?;
            write(&mut |writer| {
                let solution = writer.read_solution();
                writer.correct(stage, &solution, false);
            })?;
        }
        let shifts = tape.n_variables() < FEW;
        if shifts {
            write(&mut |writer| writer.shift())?;
        }
        let numbers = std::mem::take(&mut functions.numbers.list);
        module.finalize_definitions().map_err(refused)?;
        let n_pieces = ids.len();
        memory.keep(&ids);
        let report = CompileReport {
            n_steps: tape.n_registers(),
            n_loops: 0,
            n_pieces,
            n_bytes,
            time: start.elapsed(),
        };
        let (n_rows, stride) = (layout.n_rows, layout.stride);
        Ok(Self {
            n_coefficients: tape.n_variables()
                * (1 + shape.n_stages + shape.offsets.iter().copied().max().unwrap_or(0)),
            n_matrix: shape.blocks.iter().map(BlockShape::n_numbers).sum(),
            n_stages: shape.n_stages,
            memory,
            numbers,
            n_rows,
            stride,
            is_fused,
            shifts,
            report,
            tape,
        })
    }

    /// What compiling cost and gave.
    pub fn report(&self) -> CompileReport {
        self.report
    }

    /// Whether the stages above 0 solve with the matrix themselves.
    pub fn is_fused(&self) -> bool {
        self.is_fused
    }
}
