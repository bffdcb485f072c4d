//! The studio: a local page on which a model is written, run, moved and looked at, served by the program itself.
//!
//! The server reads requests, guards the door and the folder, and hands questions to workers: processes of the same program,
//! one for each lane of work. A worker asks the façade and answers with its records; a request that is given up takes its worker
//! along, so that whatever a model does, it ends. Nothing here calculates.

#![forbid(unsafe_code)]

mod answer;
mod asset;
mod door;
mod folder;
mod lane;
mod patience;
mod question;
mod server;
mod worker;

pub use folder::{Folder, Refused};
pub use server::{Started, Stop, serve};
pub use worker::work;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What a studio is started with.
#[derive(Clone, Debug)]
pub struct StudioSettings {
    /// The folder that is opened: nothing outside is read or written.
    pub folder: PathBuf,
    /// The file or built-in model that is shown first.
    pub first: Option<String>,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// The command that starts a worker: the program and its first words.
    pub worker: Vec<OsString>,
    /// How much everything may take.
    pub bounds: StudioBounds,
}

/// How much everything may take. The times are what a person waits for, not what a machine needs.
#[derive(Clone, Copy, Debug)]
pub struct StudioBounds {
    /// Connections at the same time; others wait until one is closed.
    pub connections: usize,
    /// Requests that wait for one lane; others are refused.
    pub waiting: usize,
    /// Bytes of a request.
    pub request: usize,
    /// Bytes of an answer.
    pub answer: usize,
    /// Bytes of memory of a worker, where the system tells them.
    pub memory: u64,
    /// How long a client may take to send a request, or to take a part of an answer.
    pub patience: Duration,
    /// How long a question may take, by lane.
    pub time: [Duration; 4],
}

impl Default for StudioBounds {
    fn default() -> Self {
        Self {
            connections: 256,
            waiting: 32,
            request: 4 << 20,
            answer: 64 << 20,
            memory: 2 << 30,
            patience: Duration::from_secs(10),
            time: [20, 60, 90, 600].map(Duration::from_secs),
        }
    }
}
