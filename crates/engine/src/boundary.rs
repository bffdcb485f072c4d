//! The boundary to C: pointers, texts, messages, and panics that stay inside.

use crate::instance::{Answer, Code, Instance};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Once;

/// The logger of FMI 2.0: environment, instance, status, category, message, and what its place holders stand for.
pub(crate) type Logger2 =
    unsafe extern "C" fn(*mut c_void, *const c_char, c_int, *const c_char, *const c_char, ...);

/// The logger of FMI 3.0: environment, status, category, message.
pub(crate) type Logger3 = unsafe extern "C" fn(*mut c_void, c_int, *const c_char, *const c_char);

/// Who is told.
#[derive(Clone, Copy)]
pub(crate) enum Listener {
    Nobody,
    Two(Logger2),
    Three(Logger3),
}

/// Where messages go.
pub(crate) struct Log {
    pub listener: Listener,
    pub environment: *mut c_void,
    pub name: CString,
    /// The categories that are told, where not all are.
    pub wanted: Option<Vec<String>>,
}

/// The category of a status.
pub(crate) fn category(code: Code) -> &'static str {
    match code {
        Code::Ok => "logAll",
        Code::Warning => "logStatusWarning",
        Code::Discard => "logStatusDiscard",
        Code::Error => "logStatusError",
        Code::Fatal => "logStatusFatal",
    }
}

impl Log {
    /// Sends a message under the category of its status.
    pub fn tell(&self, code: Code, message: &str) {
        let category = category(code);
        let is_wanted = |wanted: &Vec<String>| wanted.iter().any(|name| name == category);
        if !self.wanted.as_ref().is_none_or(is_wanted) {
            return;
        }
        let category = CString::new(category).unwrap_or_default();
        let plain = message.replace('\0', " ");
        match self.listener {
            Listener::Nobody => {}
            Listener::Two(logger) => {
                // The message is a format: what looks like a place holder is none.
                let Ok(text) = CString::new(plain.replace('%', "%%")) else {
                    return;
                };
                // SAFETY: the importer gave the function and its environment for the life of the instance; all texts end with zero.
                unsafe {
                    logger(
                        self.environment,
                        self.name.as_ptr(),
                        code as c_int,
                        category.as_ptr(),
                        text.as_ptr(),
                    );
                }
            }
            Listener::Three(logger) => {
                let Ok(text) = CString::new(plain) else {
                    return;
                };
                // SAFETY: as above.
                unsafe {
                    logger(
                        self.environment,
                        code as c_int,
                        category.as_ptr(),
                        text.as_ptr(),
                    )
                }
            }
        }
    }
}

/// A text of the importer; nothing where there is none.
///
/// # Safety
///
/// The pointer is null or that of a text which ends with zero.
pub(crate) unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the caller says so.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_string_lossy().into_owned()
}

/// A list of the importer.
///
/// # Safety
///
/// The pointer is null or that of `n` values which nobody changes during the call.
pub(crate) unsafe fn list<'a, T>(first: *const T, n: usize) -> Result<&'a [T], String> {
    match (n, first.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => Err(format!("a list of {n} values is null")),
        // SAFETY: the caller says so.
        _ => Ok(unsafe { std::slice::from_raw_parts(first, n) }),
    }
}

/// Texts of the importer.
///
/// # Safety
///
/// The pointer is null or that of `n` texts which end with zero.
pub(crate) unsafe fn texts(first: *const *const c_char, n: usize) -> Result<Vec<String>, String> {
    // SAFETY: the caller says so.
    let pointers = unsafe { list(first, n)? };
    // SAFETY: the caller says so.
    Ok(pointers.iter().map(|&one| unsafe { text(one) }).collect())
}

/// A list that is filled for the importer.
///
/// # Safety
///
/// The pointer is null or that of room for `n` values that is the callee's alone during the call.
pub(crate) unsafe fn room<'a, T>(first: *mut T, n: usize) -> Result<&'a mut [T], String> {
    match (n, first.is_null()) {
        (0, _) => Ok(&mut []),
        (_, true) => Err(format!("the room for {n} values is null")),
        // SAFETY: the caller says so.
        _ => Ok(unsafe { std::slice::from_raw_parts_mut(first, n) }),
    }
}

/// Writes a value where the importer wants it, if it does.
///
/// # Safety
///
/// The pointer is null or that of room for a value.
pub(crate) unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller says so.
        unsafe { place.write(value) };
    }
}

/// Panics are answers here: nothing is printed in somebody else's process.
fn be_silent() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
}

/// Makes an instance of the model below a folder; null where that fails, which is told.
pub(crate) fn create(folder: &Path, token: &str, is_exchange: bool, log: Log) -> *mut c_void {
    be_silent();
    let (listener, environment, name) = (log.listener, log.environment, log.name.clone());
    let made = catch_unwind(AssertUnwindSafe(|| {
        Instance::new(folder, token, is_exchange, log)
    }));
    let (log, why) = match made {
        Ok(Ok(instance)) => return Box::into_raw(Box::new(instance)).cast(),
        Ok(Err(refused)) => refused,
        Err(_) => {
            let log = Log {
                listener,
                environment,
                name,
                wanted: None,
            };
            (log, "the engine failed while it read the model".to_string())
        }
    };
    log.tell(Code::Error, &why);
    std::ptr::null_mut()
}

/// Frees an instance.
///
/// # Safety
///
/// The pointer is null or that of an instance which is not used again.
pub(crate) unsafe fn free(component: *mut c_void) {
    if !component.is_null() {
        // SAFETY: `create` made it of a box.
        let instance = unsafe { Box::from_raw(component.cast::<Instance>()) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(instance)));
    }
}

/// Calls a function of an instance: a fault is told, a panic too.
pub(crate) fn call(component: *mut c_void, what: impl FnOnce(&mut Instance) -> Answer) -> c_int {
    if component.is_null() {
        return Code::Error as c_int;
    }
    // SAFETY: the importer passes what `create` gave, and calls no two functions of an instance at once.
    let instance = unsafe { &mut *component.cast::<Instance>() };
    let code = match catch_unwind(AssertUnwindSafe(|| what(instance))) {
        Ok(Ok(code)) => code,
        Ok(Err(why)) => {
            instance.log.tell(Code::Error, &why);
            Code::Error
        }
        Err(_) => {
            instance.is_over = true;
            let why = "the engine failed; free this instance and report the model to daelight";
            instance.log.tell(Code::Fatal, why);
            Code::Fatal
        }
    };
    code as c_int
}

/// The folder that a URI or a path names: `file:///a%20b`, `file:/a`, `/a`, `file:///C:/a`.
pub(crate) fn folder_of(location: &str) -> PathBuf {
    let Some(rest) = location.strip_prefix("file:") else {
        return PathBuf::from(location);
    };
    let rest = match rest.strip_prefix("//") {
        // A host, or none.
        Some(behind) => &behind[behind.find('/').unwrap_or(0)..],
        None => rest,
    };
    let mut bytes = Vec::new();
    let mut from = rest.bytes();
    while let Some(byte) = from.next() {
        let mut ahead = from.clone();
        let digit = |b: Option<u8>| b.and_then(|b| (b as char).to_digit(16));
        let value = match byte {
            b'%' => digit(ahead.next()).zip(digit(ahead.next())),
            _ => None,
        };
        match value {
            Some((high, low)) => {
                bytes.push((16 * high + low) as u8);
                from = ahead;
            }
            None => bytes.push(byte),
        }
    }
    let path = String::from_utf8_lossy(&bytes).into_owned();
    let is_drive = path.as_bytes().get(2) == Some(&b':') && cfg!(windows);
    PathBuf::from(if is_drive { &path[1..] } else { &path })
}
