//! What people and programs see: records, and how terminal, page and picture show them.
//!
//! A [`record`] holds an answer whole; [`to_json`](record::to_json), [`terminal`], [`page`] and [`picture`] are made from it, and
//! compute nothing that the answer rests on.

#![forbid(unsafe_code)]

mod columns;
pub mod matrices;
pub mod page;
pub mod picture;
pub mod record;
pub mod scene;
mod table;
pub mod terminal;
mod words;
pub mod zip;

pub use columns::{
    ColumnValues, TableColumn, columns_json, columns_parquet, csv, csv_names, csv_row, parquet,
    table_json, table_value,
};
pub use table::{Records, Table, csv_cells};
pub use words::{count, cut, magnitude, ordinal, short, tidy_number, told_time, unit_text};
