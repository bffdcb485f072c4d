//! Compiling a tape: tiers, pieces, and the memory that holds the code.

use crate::emit::{Emitter, Lanes, Numbers};
use crate::schedule::{Schedule, bounds};
use cranelift_codegen::Context;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module, default_libcall_names};
use daelight_expr::Tape;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest piece, in steps: long enough that few values cross pieces, short enough that the work of
/// the register allocator stays in proportion (1.2 us per step at a million steps, quick tier).
const PIECE_LENGTH: usize = 2000;

/// How much work goes into the code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Tier {
    /// Registers allocated in a single pass: ready soon, for runs of some milliseconds.
    #[default]
    Quick,
    /// Optimised, registers allocated with backtracking: for sweeps and long runs.
    Optimised,
}

/// Why a tape has no native code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NativeError {
    /// The code generator does not know this processor.
    UnsupportedProcessor(String),
    /// The code generator or the system refused; the interpreter still works.
    Refused(String),
}

impl fmt::Display for NativeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NativeError::UnsupportedProcessor(why) => {
                write!(f, "no native code for this processor: {why}")
            }
            NativeError::Refused(why) => write!(f, "native code could not be made: {why}"),
        }
    }
}

impl std::error::Error for NativeError {}

/// What compiling cost and gave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompileReport {
    /// Operations and writes of outputs; those of a loop once.
    pub n_steps: usize,
    /// Loops over rows that repeat.
    pub n_loops: usize,
    /// Functions that they were cut into.
    pub n_pieces: usize,
    /// Size of the instructions.
    pub n_bytes: usize,
    /// From the tape to code that can be called.
    pub time: Duration,
}

/// One piece for one point.
pub(crate) type OnePoint = unsafe extern "C" fn(
    table: *mut f64,
    coefficients: *const f64,
    parameters: *const f64,
    outputs: *mut f64,
    time: f64,
);

/// One piece for two points.
pub(crate) type TwoPoints = unsafe extern "C" fn(
    table: *mut f64,
    coefficients: *const f64,
    parameters: *const f64,
    outputs: *mut f64,
    time: f64,
    coefficients_2: *const f64,
    parameters_2: *const f64,
    outputs_2: *mut f64,
    time_2: f64,
);

/// Functions in executable memory, which is given back when they are dropped.
pub(crate) struct Memory {
    module: Option<JITModule>,
    /// Addresses of the pieces, in the order in which they run.
    pieces: Vec<*const u8>,
}

impl Memory {
    pub(crate) fn new(module: JITModule) -> Self {
        Self {
            module: Some(module),
            pieces: Vec::new(),
        }
    }

    pub(crate) fn module(&mut self) -> &mut JITModule {
        self.module.as_mut().expect("there until it is dropped")
    }

    /// Takes note of finished functions, in the order in which they run.
    pub(crate) fn keep(&mut self, ids: &[FuncId]) {
        let module = self.module.as_ref().expect("there until it is dropped");
        let addresses = ids.iter().map(|&id| module.get_finalized_function(id));
        self.pieces.extend(addresses);
    }

    pub(crate) fn n_pieces(&self) -> usize {
        self.pieces.len()
    }

    pub(crate) fn piece(&self, place: usize) -> *const u8 {
        self.pieces[place]
    }
}

// SAFETY: after compiling, the module is only kept to be freed, and the pieces are addresses of
// code that is never written again.
unsafe impl Send for Memory {}
// SAFETY: as above; nothing reachable from a shared reference changes.
unsafe impl Sync for Memory {}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: the addresses never leave this crate other than inside calls that borrow the
            // owner of this memory, so none of the functions runs now or later.
            unsafe { module.free_memory() };
        }
    }
}

/// A tape as native code, for one point at a time or for two.
///
/// The code is immutable and can be shared by threads; [`NativeValues`](crate::NativeValues) holds
/// the room that one evaluation needs.
pub struct NativeCode {
    tape: Arc<Tape>,
    tier: Tier,
    memory: Memory,
    lanes: Lanes,
    numbers: Vec<f64>,
    n_kept: usize,
    n_resting_pieces: usize,
    report: CompileReport,
}

impl fmt::Debug for NativeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeCode")
            .field("tier", &self.tier)
            .field("lanes", &self.lanes)
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}

impl NativeCode {
    /// Compiles a tape for single points. The time is proportional to its length.
    pub fn compile(tape: Arc<Tape>, tier: Tier) -> Result<Self, NativeError> {
        Self::with_lanes(tape, tier, Lanes::One, PIECE_LENGTH)
    }

    /// Compiles a tape for many points: pairs of points, each in one half of the processor's vectors,
    /// or single ones where the code is mostly loops, which fill the vectors with their instances.
    ///
    /// Code for pairs is for a [`Batch`](crate::Batch) only.
    pub fn compile_pairs(tape: Arc<Tape>, tier: Tier) -> Result<Self, NativeError> {
        Self::with_lanes(tape, tier, Lanes::Two, PIECE_LENGTH)
    }

    /// Like [`compile`](Self::compile), with pieces of another length.
    pub fn compile_in_pieces(
        tape: Arc<Tape>,
        tier: Tier,
        piece_length: usize,
    ) -> Result<Self, NativeError> {
        Self::with_lanes(tape, tier, Lanes::One, piece_length.max(1))
    }

    fn with_lanes(
        tape: Arc<Tape>,
        tier: Tier,
        lanes: Lanes,
        piece_length: usize,
    ) -> Result<Self, NativeError> {
        let start = Instant::now();
        if !tape.signals().is_empty() {
            let why = "signals given by data are read by the interpreter";
            return Err(NativeError::Refused(why.to_string()));
        }
        let bounds = bounds(&tape);
        let schedule = Schedule::new(&tape, &bounds, piece_length);
        // The bodies of loops are short and run often: the better code for them is ready soon.
        let (lanes, effort) = if schedule.is_mostly_loops() {
            (Lanes::One, Tier::Optimised)
        } else {
            (lanes, tier)
        };
        let mut memory = Memory::new(module(effort)?);
        let module = memory.module();
        let config = module.target_config();
        let mut emitter = Emitter {
            tape: &tape,
            schedule: &schedule,
            bounds: &bounds,
            numbers: Numbers::collect(&tape, &schedule.loop_numbers),
            lanes,
            convention: config.default_call_conv,
            config,
            values: vec![None; tape.n_registers()],
            touched: Vec::new(),
        };
        let n_numbers = emitter.numbers.list.len();
        let mut context = module.make_context();
        let mut builder = FunctionBuilderContext::new();
        let mut ids = Vec::with_capacity(schedule.pieces.len());
        let mut n_bytes = 0;
        for piece in 0..schedule.pieces.len() {
            emitter.emit(piece, &mut context.func, &mut builder);
            let (id, size) = define(module, &mut context)?;
            ids.push(id);
            n_bytes += size;
        }
        let numbers = emitter.numbers.list;
        assert_eq!(numbers.len(), n_numbers, "all numbers were known before");
        module.finalize_definitions().map_err(refused)?;
        memory.keep(&ids);
        let report = CompileReport {
            n_steps: schedule.n_steps(),
            n_loops: schedule.loops.len(),
            n_pieces: schedule.pieces.len(),
            n_bytes,
            time: start.elapsed(),
        };
        Ok(Self {
            memory,
            tier,
            lanes,
            numbers,
            n_kept: schedule.n_kept,
            n_resting_pieces: schedule.n_resting_pieces,
            report,
            tape,
        })
    }

    /// The tape behind the code.
    pub fn tape(&self) -> &Arc<Tape> {
        &self.tape
    }

    /// How it was compiled.
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// What compiling cost and gave.
    pub fn report(&self) -> CompileReport {
        self.report
    }

    /// How many points one call evaluates.
    pub(crate) fn n_lanes(&self) -> usize {
        self.lanes.count()
    }

    /// How many of the first pieces depend on the parameters only.
    pub(crate) fn n_resting_pieces(&self) -> usize {
        self.n_resting_pieces
    }

    /// Room for the numbers of the tape, filled in, for the values that cross pieces, and for the sum of the outputs.
    pub(crate) fn table(&self) -> Vec<f64> {
        let lanes = self.n_lanes();
        let mut table: Vec<f64> = self
            .numbers
            .iter()
            .flat_map(|&number| std::iter::repeat_n(number, lanes))
            .collect();
        table.resize(table.len() + lanes * (self.n_kept + 1), 0.0);
        table
    }

    /// The places in the table to which the pieces add up their outputs, one place for each point.
    ///
    /// The sum is a finite number only if all outputs are.
    pub(crate) fn sums<'a>(&self, table: &'a mut [f64]) -> &'a mut [f64] {
        let first = table.len() - self.n_lanes();
        &mut table[first..]
    }

    /// The pieces as functions of one point.
    pub(crate) fn one_point(&self) -> impl Iterator<Item = OnePoint> {
        assert_eq!(self.lanes, Lanes::One, "code for pairs takes two points");
        self.memory.pieces.iter().map(|&address| {
            // SAFETY: the address is that of a finished function which was given this signature.
            unsafe { std::mem::transmute::<*const u8, OnePoint>(address) }
        })
    }

    /// The pieces as functions of two points.
    pub(crate) fn two_points(&self) -> impl Iterator<Item = TwoPoints> {
        assert_eq!(self.lanes, Lanes::Two, "code for single points takes one");
        self.memory.pieces.iter().map(|&address| {
            // SAFETY: the address is that of a finished function which was given this signature.
            unsafe { std::mem::transmute::<*const u8, TwoPoints>(address) }
        })
    }
}

pub(crate) fn refused(error: impl fmt::Display) -> NativeError {
    NativeError::Refused(error.to_string())
}

pub(crate) fn module(tier: Tier) -> Result<JITModule, NativeError> {
    let mut flags = settings::builder();
    let mut set = |name: &str, value: &str| flags.set(name, value).map_err(refused);
    set("is_pic", "false")?;
    set("use_colocated_libcalls", "false")?;
    set("unwind_info", "false")?;
    set(
        "enable_verifier",
        if cfg!(debug_assertions) {
            "true"
        } else {
            "false"
        },
    )?;
    let (level, allocator) = match tier {
        Tier::Quick => ("none", "single_pass"),
        Tier::Optimised => ("speed", "backtracking"),
    };
    set("opt_level", level)?;
    set("regalloc_algorithm", allocator)?;
    let target = cranelift_native::builder()
        .map_err(|why| NativeError::UnsupportedProcessor(why.to_string()))?
        .finish(settings::Flags::new(flags))
        .map_err(refused)?;
    Ok(JITModule::new(JITBuilder::with_isa(
        target,
        default_libcall_names(),
    )))
}

pub(crate) fn define(
    module: &mut JITModule,
    context: &mut Context,
) -> Result<(FuncId, usize), NativeError> {
    let id = module
        .declare_anonymous_function(&context.func.signature)
        .map_err(refused)?;
    module
        .define_function(id, context)
        .map_err(|error| NativeError::Refused(format!("{error:?}")))?;
    let size = context
        .compiled_code()
        .map_or(0, |code| code.code_buffer().len());
    module.clear_context(context);
    Ok((id, size))
}
