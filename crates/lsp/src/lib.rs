//! The language server: diagnostics, hover, completion, definitions, references, rename, symbols and formatting for Modelica
//! texts in editors, by the Language Server Protocol 3.17.
//!
//! Three threads work for one client. The first answers requests from the names of the current text alone, so that it is quick
//! on any text ([`serve`]). The second has texts checked, as `daelight check` does, the newest version first,
//! by threads of their own, so that none waits for an older one. The third analyses
//! models that are small enough, for what hovering tells of blocks and hidden constraints. What they find counts for the
//! version that they looked at and is dropped when another one has come.

mod check;
mod complete;
mod document;
mod facts;
mod format;
mod glance;
mod hover;
mod library;
mod names;
mod rename;
mod server;
mod symbols;
mod wire;

pub use format::formatted;
pub use glance::Glance;
pub use server::{ServerSettings, serve};
