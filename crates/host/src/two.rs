//! The functions of FMI 2.0, called.

use crate::guest::{Guest, Stepped, function, keep_message, open, text, went_through};
use crate::job::{GuestJob, GuestValue, GuestVariable, ValueType};
use libloading::Library;
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;

type Component = *mut c_void;
type Plain = unsafe extern "C" fn(Component) -> c_int;
type Setup = unsafe extern "C" fn(Component, c_int, f64, f64, c_int, f64) -> c_int;
type Step = unsafe extern "C" fn(Component, f64, f64, c_int) -> c_int;
type Get<T> = unsafe extern "C" fn(Component, *const u32, usize, *mut T) -> c_int;
type Set<T> = unsafe extern "C" fn(Component, *const u32, usize, *const T) -> c_int;
type SetRates =
    unsafe extern "C" fn(Component, *const u32, usize, *const c_int, *const f64) -> c_int;
type Status<T> = unsafe extern "C" fn(Component, c_int, *mut T) -> c_int;
type Instantiate = unsafe extern "C" fn(
    *const c_char,
    c_int,
    *const c_char,
    *const c_char,
    *const Callbacks,
    c_int,
    c_int,
) -> Component;

/// `fmi2CallbackFunctions`. The logger takes further arguments that its message may hold places for; they are left unread.
#[repr(C)]
struct Callbacks {
    logger: unsafe extern "C" fn(*mut c_void, *const c_char, c_int, *const c_char, *const c_char),
    allocate: unsafe extern "C" fn(usize, usize) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
    finished: *const c_void,
    environment: *mut c_void,
}

// The callbacks are functions and null.
unsafe impl Sync for Callbacks {}

unsafe extern "C" {
    fn calloc(n: usize, size: usize) -> *mut c_void;
    fn free(place: *mut c_void);
}

unsafe extern "C" fn log(
    _environment: *mut c_void,
    _name: *const c_char,
    status: c_int,
    _category: *const c_char,
    message: *const c_char,
) {
    // SAFETY: a text of the library.
    keep_message(status, unsafe { text(message) });
}

static CALLBACKS: Callbacks = Callbacks {
    logger: log,
    allocate: calloc,
    free,
    finished: std::ptr::null(),
    environment: std::ptr::null_mut(),
};

/// An instance.
pub(crate) struct Two {
    library: &'static Library,
    component: Component,
}

/// A folder as a URI.
fn uri(folder: &Path) -> String {
    let mut text = String::from("file://");
    let path = folder.to_string_lossy().replace('\\', "/");
    if !path.starts_with('/') {
        text.push('/');
    }
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' | b':' => {
                text.push(byte as char);
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}

/// Loads the library of a job and makes an instance.
pub(crate) fn load(job: &GuestJob) -> Result<Two, String> {
    let library = open(&job.library)?;
    let texts = [&job.name, &job.token, &uri(&job.resources)];
    let texts = texts.map(|text| CString::new(text.as_str()).unwrap_or_default());
    // SAFETY: the type of this function; texts that end with zero, and functions that live as long as the process.
    let component = unsafe {
        let instantiate: Instantiate = function(library, "fmi2Instantiate")?;
        let [name, token, resources] = texts.each_ref().map(|text| text.as_ptr());
        instantiate(name, 1, token, resources, &raw const CALLBACKS, 0, 0)
    };
    match component.is_null() {
        true => Err("fmi2Instantiate made no instance".to_string()),
        false => Ok(Two { library, component }),
    }
}

impl Two {
    fn plain(&self, name: &str) -> Result<(), String> {
        // SAFETY: all functions that are called so have this type.
        let status = unsafe { function::<Plain>(self.library, name)?(self.component) };
        went_through(name, status)
    }

    fn read<T: Default>(&self, name: &str, reference: u32) -> Result<T, String> {
        let mut value = T::default();
        // SAFETY: the type of this function; one number, one place.
        let status = unsafe {
            let get: Get<T> = function(self.library, name)?;
            get(self.component, &raw const reference, 1, &raw mut value)
        };
        went_through(name, status).map(|()| value)
    }

    fn write<T>(&self, name: &str, reference: u32, value: T) -> Result<(), String> {
        // SAFETY: the type of this function; one number, one value.
        let status = unsafe {
            let set: Set<T> = function(self.library, name)?;
            set(self.component, &raw const reference, 1, &raw const value)
        };
        went_through(name, status)
    }

    fn status<T: Default>(&self, name: &str, kind: c_int) -> Option<T> {
        let mut value = T::default();
        // SAFETY: the type of this function; one place.
        let status = unsafe {
            let ask: Status<T> = function(self.library, name).ok()?;
            ask(self.component, kind, &raw mut value)
        };
        (status == 0).then_some(value)
    }
}

impl Guest for Two {
    fn set(&mut self, variable: GuestVariable, value: &GuestValue) -> Result<(), String> {
        let reference = variable.reference;
        match (variable.ty, value) {
            (ValueType::Float64, GuestValue::Number(x)) => self.write("fmi2SetReal", reference, *x),
            (ValueType::Int32 | ValueType::Int64, GuestValue::Number(x)) => {
                self.write("fmi2SetInteger", reference, *x as c_int)
            }
            (ValueType::Boolean, GuestValue::Number(x)) => {
                self.write("fmi2SetBoolean", reference, c_int::from(*x != 0.0))
            }
            (_, GuestValue::Text(text)) => {
                let text = CString::new(text.as_str()).unwrap_or_default();
                self.write("fmi2SetString", reference, text.as_ptr())
            }
            (ty, GuestValue::Number(_)) => Err(format!("FMI 2.0 has no type {ty:?}")),
        }
    }

    fn set_rate(&mut self, variable: GuestVariable, rate: f64) -> Result<(), String> {
        let name = "fmi2SetRealInputDerivatives";
        let (reference, order): (u32, c_int) = (variable.reference, 1);
        // SAFETY: the type of this function; one number, one order, one value.
        let status = unsafe {
            let set: SetRates = function(self.library, name)?;
            let numbers = (&raw const reference, &raw const order);
            set(self.component, numbers.0, 1, numbers.1, &raw const rate)
        };
        went_through(name, status)
    }

    fn start(&mut self, from: f64, to: f64, tolerance: Option<f64>) -> Result<(), String> {
        // SAFETY: the type of this function.
        let status = unsafe {
            let setup: Setup = function(self.library, "fmi2SetupExperiment")?;
            let has_tolerance = c_int::from(tolerance.is_some());
            setup(
                self.component,
                has_tolerance,
                tolerance.unwrap_or(0.0),
                from,
                1,
                to,
            )
        };
        went_through("fmi2SetupExperiment", status)?;
        self.plain("fmi2EnterInitializationMode")?;
        self.plain("fmi2ExitInitializationMode")
    }

    fn step(&mut self, from: f64, length: f64) -> Result<Stepped, String> {
        // SAFETY: the type of this function.
        let status = unsafe {
            let step: Step = function(self.library, "fmi2DoStep")?;
            step(self.component, from, length, 1)
        };
        if status == 2 {
            // The kinds 2 and 3 of status: the last time that was reached, and whether the FMU ends the run.
            let reached = self.status::<f64>("fmi2GetRealStatus", 2);
            return Ok(Stepped::Ended(reached.unwrap_or(from)));
        }
        went_through("fmi2DoStep", status).map(|()| Stepped::Done)
    }

    fn get(&mut self, variable: GuestVariable) -> Result<Vec<f64>, String> {
        let reference = variable.reference;
        let value = match variable.ty {
            ValueType::Float64 => self.read("fmi2GetReal", reference),
            ValueType::Boolean => self
                .read::<c_int>("fmi2GetBoolean", reference)
                .map(f64::from),
            _ => self
                .read::<c_int>("fmi2GetInteger", reference)
                .map(f64::from),
        };
        value.map(|value| vec![value])
    }

    fn finish(&mut self) {
        // What went wrong after the last value spoils nothing.
        let _ = self.plain("fmi2Terminate");
        // SAFETY: the type of this function; the instance is not used again.
        unsafe {
            if let Ok(free) =
                function::<unsafe extern "C" fn(Component)>(self.library, "fmi2FreeInstance")
            {
                free(self.component);
            }
        }
    }
}
