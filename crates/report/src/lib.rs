//! Findings for people and for programs: frames around source text, and the JSON documents.
//!
//! This crate holds the only serialised types; `docs/json.md` documents their fields.

mod columns;
mod feedforward;
mod frame;
mod json;
mod page;
mod passport;
mod run;
mod singular;
mod spectrum;
mod start;
mod sweep;
mod table;
mod words;

pub use columns::{Column, ColumnValues, columns_json, columns_parquet, csv, parquet, table_json, table_value};
pub use feedforward::{FeedforwardReport, PathErrorRecord, feedforward_page};
pub use frame::frame;
pub use json::{CheckReport, DiagnosticRecord, ExampleRecord, to_json};
pub use page::{index_rows, passport_page, passport_summary, short};
pub use passport::{
    AnalyzeReport, BlockRecord, CriticalRecord, DecouplingRecord, DifferentiationRecord,
    ExceptionalRecord, HiddenRecord, IntervalRecord, LevelRecord, LocusRecord, RepairedRecord,
    StrangenessRecord, StructuralRecord, TractabilityRecord,
};
pub use run::{
    DiscretisationRecord, EnergyRecord, IndexChangeRecord, SingularityRecord, SolveReport,
    StatisticsRecord, StoppedRecord, SwitchRecord, named_values, nature_words, run_page,
    time_words,
};
pub use singular::{
    ConfigurationRecord, CurveCountRecord, LocusComponentRecord, LocusFactorRecord, ManifoldRecord,
    SingularCaseRecord, SingularReport, SingularSetRecord, singular_page,
};
pub use spectrum::{
    EigenvalueRecord, PathRecord, PhaseChangeRecord, PhaseRecord, ZeroDynamicsRecord,
    spectrum_words,
};
pub use start::{
    ConditionRecord, ConflictRecord, OtherRecord, RemedyRecord, StartFailure, StartLevelRecord,
    StartReport, condition_text, freedom_sentences, start_page, tidy_number,
};
pub use sweep::{MeasureRecord, ReasonRecord, SweepReport, sweep_page};
pub use table::{Records, Table, csv_cells};
pub use words::count;
