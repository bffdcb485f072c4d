//! What both versions of FMI have in common: a library that is loaded, its status, its messages.

use crate::job::{GuestValue, GuestVariable};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// How a step ended.
pub(crate) enum Stepped {
    /// Where it was to end.
    Done,
    /// Before: at this time.
    Ended(f64),
}

/// An instance of an FMU.
pub(crate) trait Guest {
    /// Gives a variable a value before the start.
    fn set(&mut self, variable: GuestVariable, value: &GuestValue) -> Result<(), String>;
    /// Tells how fast an input moves from here on.
    fn set_rate(&mut self, variable: GuestVariable, rate: f64) -> Result<(), String>;
    /// Begins a run.
    fn start(&mut self, from: f64, to: f64, tolerance: Option<f64>) -> Result<(), String>;
    /// Makes a step.
    fn step(&mut self, from: f64, length: f64) -> Result<Stepped, String>;
    /// The values of a variable.
    fn get(&mut self, variable: GuestVariable) -> Result<Vec<f64>, String>;
    /// Ends the run.
    fn finish(&mut self);
}

/// What the library said; there is one in a process.
static MESSAGES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// What was said since the last time.
pub(crate) fn take_messages() -> Vec<String> {
    let mut all = MESSAGES.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::take(&mut *all)
}

/// Keeps a message; of many that follow each other the first ones.
pub(crate) fn keep_message(status: c_int, text: String) {
    let mut all = MESSAGES.lock().unwrap_or_else(PoisonError::into_inner);
    if all.len() < usize::from(u8::MAX) {
        all.push(format!("[{}] {}", word(status), text.trim_end()));
    }
}

/// A status in words.
pub(crate) fn word(status: c_int) -> &'static str {
    match status {
        0 => "ok",
        1 => "warning",
        2 => "discard",
        3 => "error",
        4 => "fatal",
        5 => "pending",
        _ => "unknown status",
    }
}

/// Whether a call went through; a warning does.
pub(crate) fn went_through(call: &str, status: c_int) -> Result<(), String> {
    match status {
        0 | 1 => Ok(()),
        other => Err(format!("{call} returned the status `{}`", word(other))),
    }
}

/// A text of the library; nothing where there is none.
///
/// # Safety
///
/// The pointer is null or that of a text which ends with zero.
pub(crate) unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the caller says so.
    unsafe { CStr::from_ptr(pointer) }
        .to_string_lossy()
        .into_owned()
}

/// Loads a library for the rest of the life of this process.
pub(crate) fn open(path: &Path) -> Result<&'static Library, String> {
    // SAFETY: loading runs the code of the library, which is what the user asked for; this process holds nothing else.
    let library = unsafe { Library::new(path) };
    let library = library.map_err(|error| format!("the library cannot be loaded: {error}"))?;
    Ok(Box::leak(Box::new(library)))
}

/// A function of the library.
///
/// # Safety
///
/// `T` is the type of that function in the standard.
pub(crate) unsafe fn function<T: Copy>(library: &Library, name: &str) -> Result<T, String> {
    // SAFETY: the caller says so.
    let found = unsafe { library.get::<T>(name.as_bytes()) };
    match found {
        Ok(symbol) => Ok(*symbol),
        Err(_) => Err(format!("the library has no function {name}")),
    }
}
