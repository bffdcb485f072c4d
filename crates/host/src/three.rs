//! The functions of FMI 3.0, called.

use crate::guest::{Guest, Stepped, function, keep_message, open, text, went_through};
use crate::job::{GuestJob, GuestValue, GuestVariable, ValueType};
use libloading::Library;
use std::ffi::{CString, c_char, c_int, c_void};

type Component = *mut c_void;
type Plain = unsafe extern "C" fn(Component) -> c_int;
type Begin = unsafe extern "C" fn(Component, bool, f64, f64, bool, f64) -> c_int;
type Get<T> = unsafe extern "C" fn(Component, *const u32, usize, *mut T, usize) -> c_int;
type Set<T> = unsafe extern "C" fn(Component, *const u32, usize, *const T, usize) -> c_int;
type Log = unsafe extern "C" fn(*mut c_void, c_int, *const c_char, *const c_char);
type Step = unsafe extern "C" fn(
    Component,
    f64,
    f64,
    bool,
    *mut bool,
    *mut bool,
    *mut bool,
    *mut f64,
) -> c_int;
type Instantiate = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const c_char,
    bool,
    bool,
    bool,
    bool,
    *const u32,
    usize,
    *mut c_void,
    Log,
    *const c_void,
) -> Component;

unsafe extern "C" fn log(
    _environment: *mut c_void,
    status: c_int,
    _category: *const c_char,
    message: *const c_char,
) {
    // SAFETY: a text of the library.
    keep_message(status, unsafe { text(message) });
}

/// An instance.
pub(crate) struct Three {
    library: &'static Library,
    component: Component,
}

/// Loads the library of a job and makes an instance, without event mode and early return.
pub(crate) fn load(job: &GuestJob) -> Result<Three, String> {
    let library = open(&job.library)?;
    let mut folder = job.resources.to_string_lossy().into_owned();
    folder.push(std::path::MAIN_SEPARATOR);
    let texts = [&job.name, &job.token, &folder];
    let texts = texts.map(|text| CString::new(text.as_str()).unwrap_or_default());
    let nothing = std::ptr::null_mut();
    // SAFETY: the type of this function; texts that end with zero, a function, and no lists.
    let component = unsafe {
        let instantiate: Instantiate = function(library, "fmi3InstantiateCoSimulation")?;
        let [name, token, resources] = texts.each_ref().map(|text| text.as_ptr());
        instantiate(
            name,
            token,
            resources,
            false,
            false,
            false,
            false,
            std::ptr::null(),
            0,
            nothing,
            log,
            std::ptr::null(),
        )
    };
    match component.is_null() {
        true => Err("fmi3InstantiateCoSimulation made no instance".to_string()),
        false => Ok(Three { library, component }),
    }
}

impl Three {
    fn plain(&self, name: &str) -> Result<(), String> {
        // SAFETY: all functions that are called so have this type.
        let status = unsafe { function::<Plain>(self.library, name)?(self.component) };
        went_through(name, status)
    }

    fn read<T: Default + Clone>(
        &self,
        name: &str,
        variable: GuestVariable,
        number: impl Fn(T) -> f64,
    ) -> Result<Vec<f64>, String> {
        let (reference, n) = (variable.reference, variable.length);
        let mut values = vec![T::default(); n];
        // SAFETY: the type of this function; one number, and as many places as the variable has values.
        let status = unsafe {
            let get: Get<T> = function(self.library, name)?;
            get(
                self.component,
                &raw const reference,
                1,
                values.as_mut_ptr(),
                n,
            )
        };
        went_through(name, status).map(|()| values.into_iter().map(number).collect())
    }

    fn write<T>(&self, name: &str, reference: u32, value: T) -> Result<(), String> {
        // SAFETY: the type of this function; one number, one value.
        let status = unsafe {
            let set: Set<T> = function(self.library, name)?;
            set(self.component, &raw const reference, 1, &raw const value, 1)
        };
        went_through(name, status)
    }
}

impl Guest for Three {
    fn set(&mut self, variable: GuestVariable, value: &GuestValue) -> Result<(), String> {
        let reference = variable.reference;
        let x = match value {
            GuestValue::Number(x) => *x,
            GuestValue::Text(text) => {
                let text = CString::new(text.as_str()).unwrap_or_default();
                return self.write("fmi3SetString", reference, text.as_ptr());
            }
        };
        match variable.ty {
            ValueType::Float64 => self.write("fmi3SetFloat64", reference, x),
            ValueType::Float32 => self.write("fmi3SetFloat32", reference, x as f32),
            ValueType::Int8 => self.write("fmi3SetInt8", reference, x as i8),
            ValueType::UInt8 => self.write("fmi3SetUInt8", reference, x as u8),
            ValueType::Int16 => self.write("fmi3SetInt16", reference, x as i16),
            ValueType::UInt16 => self.write("fmi3SetUInt16", reference, x as u16),
            ValueType::Int32 => self.write("fmi3SetInt32", reference, x as i32),
            ValueType::UInt32 => self.write("fmi3SetUInt32", reference, x as u32),
            ValueType::Int64 => self.write("fmi3SetInt64", reference, x as i64),
            ValueType::UInt64 => self.write("fmi3SetUInt64", reference, x as u64),
            ValueType::Boolean => self.write("fmi3SetBoolean", reference, x != 0.0),
            ValueType::String => Err("a number for a text".to_string()),
        }
    }

    fn set_rate(&mut self, _: GuestVariable, _: f64) -> Result<(), String> {
        Err("FMI 3.0 has no rates of inputs".to_string())
    }

    fn start(&mut self, from: f64, to: f64, tolerance: Option<f64>) -> Result<(), String> {
        let name = "fmi3EnterInitializationMode";
        // SAFETY: the type of this function.
        let status = unsafe {
            let begin: Begin = function(self.library, name)?;
            let wanted = tolerance.unwrap_or(0.0);
            begin(self.component, tolerance.is_some(), wanted, from, true, to)
        };
        went_through(name, status)?;
        self.plain("fmi3ExitInitializationMode")
    }

    fn step(&mut self, from: f64, length: f64) -> Result<Stepped, String> {
        let (mut event, mut ends, mut early, mut reached) = (false, false, false, from);
        // SAFETY: the type of this function; a place for each answer.
        let status = unsafe {
            let step: Step = function(self.library, "fmi3DoStep")?;
            step(
                self.component,
                from,
                length,
                true,
                &raw mut event,
                &raw mut ends,
                &raw mut early,
                &raw mut reached,
            )
        };
        if status == 2 || (ends && status < 2) {
            return Ok(Stepped::Ended(reached));
        }
        went_through("fmi3DoStep", status).map(|()| Stepped::Done)
    }

    fn get(&mut self, variable: GuestVariable) -> Result<Vec<f64>, String> {
        match variable.ty {
            ValueType::Float64 => self.read("fmi3GetFloat64", variable, |x: f64| x),
            ValueType::Float32 => self.read("fmi3GetFloat32", variable, |x: f32| x.into()),
            ValueType::Int8 => self.read("fmi3GetInt8", variable, |x: i8| x.into()),
            ValueType::UInt8 => self.read("fmi3GetUInt8", variable, |x: u8| x.into()),
            ValueType::Int16 => self.read("fmi3GetInt16", variable, |x: i16| x.into()),
            ValueType::UInt16 => self.read("fmi3GetUInt16", variable, |x: u16| x.into()),
            ValueType::Int32 => self.read("fmi3GetInt32", variable, |x: i32| x.into()),
            ValueType::UInt32 => self.read("fmi3GetUInt32", variable, |x: u32| x.into()),
            ValueType::Int64 => self.read("fmi3GetInt64", variable, |x: i64| x as f64),
            ValueType::UInt64 => self.read("fmi3GetUInt64", variable, |x: u64| x as f64),
            // A byte, whatever the library writes into it.
            ValueType::Boolean => self.read("fmi3GetBoolean", variable, |x: u8| {
                f64::from(u8::from(x != 0))
            }),
            ValueType::String => Err("a text is no number".to_string()),
        }
    }

    fn finish(&mut self) {
        // What went wrong after the last value spoils nothing.
        let _ = self.plain("fmi3Terminate");
        // SAFETY: the type of this function; the instance is not used again.
        unsafe {
            if let Ok(free) =
                function::<unsafe extern "C" fn(Component)>(self.library, "fmi3FreeInstance")
            {
                free(self.component);
            }
        }
    }
}
