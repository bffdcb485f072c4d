//! The functions of FMI 3.0.
//!
//! All are safe to call with what the standard allows; what a pointer has to be is said there.

#![allow(non_snake_case, reason = "the names are those of the standard")]
#![allow(
    clippy::missing_safety_doc,
    reason = "the standard says what is passed"
)]
#![allow(
    clippy::too_many_arguments,
    reason = "the arguments are those of the standard"
)]

use crate::boundary::{Listener, Log, Logger3, call, create, free, list, put, room, text, texts};
use crate::fmi2::{forget, keep, revive, with_state};
use crate::instance::Code;
use daelight_lang::Type;
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;

type Component = *mut c_void;

#[unsafe(no_mangle)]
pub extern "C" fn fmi3GetVersion() -> *const c_char {
    c"3.0".as_ptr()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3SetDebugLogging(
    component: Component,
    on: bool,
    n: usize,
    categories: *const *const c_char,
) -> c_int {
    call(component, |instance| {
        // SAFETY: texts of the importer.
        let categories = unsafe { texts(categories, n)? };
        instance.choose_messages(on, &categories)
    })
}

unsafe fn log(name: *const c_char, environment: Component, logger: Option<Logger3>) -> Log {
    // SAFETY: a text of the importer.
    let name = unsafe { text(name) };
    Log {
        listener: match logger {
            Some(logger) => Listener::Three(logger),
            None => Listener::Nobody,
        },
        environment,
        name: CString::new(name).unwrap_or_default(),
        wanted: None,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3InstantiateCoSimulation(
    name: *const c_char,
    token: *const c_char,
    resources: *const c_char,
    _visible: bool,
    _logging: bool,
    event_mode: bool,
    early_return: bool,
    _intermediate: *const u32,
    _n_intermediate: usize,
    environment: Component,
    logger: Option<Logger3>,
    _update: *const c_void,
) -> Component {
    // SAFETY: texts of the importer.
    let (token, resources, log) =
        unsafe { (text(token), text(resources), log(name, environment, logger)) };
    let component = create(Path::new(&resources), &token, false, log);
    call(component, |instance| {
        instance.stops_at_events = event_mode && early_return;
        Ok(Code::Ok)
    });
    component
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3InstantiateModelExchange(
    name: *const c_char,
    token: *const c_char,
    resources: *const c_char,
    _visible: bool,
    _logging: bool,
    environment: Component,
    logger: Option<Logger3>,
) -> Component {
    // SAFETY: texts of the importer.
    let (token, resources, log) =
        unsafe { (text(token), text(resources), log(name, environment, logger)) };
    create(Path::new(&resources), &token, true, log)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3InstantiateScheduledExecution(
    name: *const c_char,
    _token: *const c_char,
    _resources: *const c_char,
    _visible: bool,
    _logging: bool,
    environment: Component,
    logger: Option<Logger3>,
    _clock: *const c_void,
    _lock: *const c_void,
    _unlock: *const c_void,
) -> Component {
    // SAFETY: a text of the importer.
    let log = unsafe { log(name, environment, logger) };
    log.tell(Code::Error, "this FMU is not for scheduled execution");
    std::ptr::null_mut()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3FreeInstance(component: Component) {
    // SAFETY: the importer does not use it again.
    unsafe { free(component) }
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi3EnterInitializationMode(
    component: Component,
    has_tolerance: bool,
    tolerance: f64,
    from: f64,
    has_end: bool,
    to: f64,
) -> c_int {
    let (tolerance, to) = (has_tolerance.then_some(tolerance), has_end.then_some(to));
    call(component, |instance| instance.plan(from, to, tolerance))
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi3ExitInitializationMode(component: Component) -> c_int {
    call(component, |instance| instance.begin())
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi3Terminate(component: Component) -> c_int {
    call(component, |_| Ok(Code::Ok))
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi3Reset(component: Component) -> c_int {
    call(component, |instance| instance.reset())
}

/// As many values as variables: all are scalar.
fn same(n: usize, n_values: usize) -> Result<(), String> {
    match n == n_values {
        true => Ok(()),
        false => Err(format!("{n_values} values for {n} scalar variables")),
    }
}

macro_rules! values {
    ($get:ident, $set:ident, $number:ty, $ty:expr, $to:expr, $from:expr) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get(
            component: Component,
            references: *const u32,
            n: usize,
            values: *mut $number,
            n_values: usize,
        ) -> c_int {
            call(component, |instance| {
                same(n, n_values)?;
                // SAFETY: lists of the importer of this length.
                let (references, values) = unsafe { (list(references, n)?, room(values, n)?) };
                let convert: fn(f64) -> $number = $to;
                for (reference, value) in references.iter().zip(values) {
                    *value = convert(instance.get(*reference, $ty)?);
                }
                Ok(Code::Ok)
            })
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $set(
            component: Component,
            references: *const u32,
            n: usize,
            values: *const $number,
            n_values: usize,
        ) -> c_int {
            call(component, |instance| {
                same(n, n_values)?;
                // SAFETY: lists of the importer of this length.
                let (references, values) = unsafe { (list(references, n)?, list(values, n)?) };
                let convert: fn($number) -> f64 = $from;
                let mut code = Code::Ok;
                for (reference, value) in references.iter().zip(values) {
                    match instance.set(*reference, $ty, convert(*value))? {
                        Code::Ok => {}
                        other => code = other,
                    }
                }
                Ok(code)
            })
        }
    };
}

values!(
    fmi3GetFloat64,
    fmi3SetFloat64,
    f64,
    Type::Real,
    |x| x,
    |x| x
);
values!(
    fmi3GetInt32,
    fmi3SetInt32,
    i32,
    Type::Integer,
    |x| x as i32,
    f64::from
);
values!(
    fmi3GetBoolean,
    fmi3SetBoolean,
    bool,
    Type::Boolean,
    |x| x != 0.0,
    |x| f64::from(u8::from(x))
);

/// Types that no variable has.
fn no_values(component: Component, n: usize, ty: &str) -> c_int {
    call(component, |_| match n {
        0 => Ok(Code::Ok),
        _ => Err(format!("the model has no variables of type {ty}")),
    })
}

macro_rules! no_values {
    ($(($get:ident, $set:ident, $number:ty, $word:literal)),*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $get(
            component: Component,
            _references: *const u32,
            n: usize,
            _values: *mut $number,
            _n_values: usize,
        ) -> c_int {
            no_values(component, n, $word)
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $set(
            component: Component,
            _references: *const u32,
            n: usize,
            _values: *const $number,
            _n_values: usize,
        ) -> c_int {
            no_values(component, n, $word)
        }
    )*};
}

no_values!(
    (fmi3GetFloat32, fmi3SetFloat32, f32, "Float32"),
    (fmi3GetInt8, fmi3SetInt8, i8, "Int8"),
    (fmi3GetUInt8, fmi3SetUInt8, u8, "UInt8"),
    (fmi3GetInt16, fmi3SetInt16, i16, "Int16"),
    (fmi3GetUInt16, fmi3SetUInt16, u16, "UInt16"),
    (fmi3GetUInt32, fmi3SetUInt32, u32, "UInt32"),
    (fmi3GetInt64, fmi3SetInt64, i64, "Int64"),
    (fmi3GetUInt64, fmi3SetUInt64, u64, "UInt64"),
    (fmi3GetString, fmi3SetString, *const c_char, "String"),
    (fmi3GetClock, fmi3SetClock, bool, "Clock")
);

#[unsafe(no_mangle)]
pub extern "C" fn fmi3GetBinary(
    component: Component,
    _references: *const u32,
    n: usize,
    _sizes: *mut usize,
    _values: *mut *const u8,
    _n_values: usize,
) -> c_int {
    no_values(component, n, "Binary")
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi3SetBinary(
    component: Component,
    _references: *const u32,
    n: usize,
    _sizes: *const usize,
    _values: *const *const u8,
    _n_values: usize,
) -> c_int {
    no_values(component, n, "Binary")
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3GetFMUState(component: Component, state: *mut *mut c_void) -> c_int {
    // SAFETY: as the standard says.
    unsafe { keep(component, state) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3SetFMUState(component: Component, state: *mut c_void) -> c_int {
    // SAFETY: as the standard says.
    unsafe { with_state(component, state, |instance, kept| instance.restore(kept)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3FreeFMUState(component: Component, state: *mut *mut c_void) -> c_int {
    // SAFETY: as the standard says.
    unsafe { forget(component, state) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3SerializedFMUStateSize(
    component: Component,
    state: *mut c_void,
    size: *mut usize,
) -> c_int {
    // SAFETY: as the standard says.
    unsafe { crate::fmi2::size_of_state(component, state, size) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3SerializeFMUState(
    component: Component,
    state: *mut c_void,
    bytes: *mut u8,
    size: usize,
) -> c_int {
    // SAFETY: as the standard says.
    unsafe { crate::fmi2::write_state(component, state, bytes, size) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3DeserializeFMUState(
    component: Component,
    bytes: *const u8,
    size: usize,
    state: *mut *mut c_void,
) -> c_int {
    // SAFETY: as the standard says.
    unsafe { revive(component, bytes, size, state) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3GetOutputDerivatives(
    component: Component,
    references: *const u32,
    n: usize,
    orders: *const i32,
    values: *mut f64,
    n_values: usize,
) -> c_int {
    call(component, |instance| {
        same(n, n_values)?;
        // SAFETY: lists of the importer of this length.
        let (references, orders, values) =
            unsafe { (list(references, n)?, list(orders, n)?, room(values, n)?) };
        for ((&reference, &order), value) in references.iter().zip(orders).zip(values) {
            *value = instance.derivative(reference, order)?;
        }
        Ok(Code::Ok)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3DoStep(
    component: Component,
    from: f64,
    step: f64,
    _no_return: bool,
    event: *mut bool,
    ends: *mut bool,
    early: *mut bool,
    reached: *mut f64,
) -> c_int {
    call(component, |instance| {
        let (code, is_event) = instance.step_to_event(from, step);
        // SAFETY: room for one value each.
        unsafe {
            put(event, is_event);
            put(early, is_event && instance.time() < from + step);
            put(ends, instance.is_over);
            put(reached, instance.time());
        }
        code
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi3EnterStepMode(component: Component) -> c_int {
    call(component, |_| Ok(Code::Ok))
}

/// What is not offered is refused in one way.
fn refuse(component: Component, what: &str) -> c_int {
    call(component, |_| Err(format!("this FMU has no {what}")))
}

macro_rules! refused {
    ($what:literal: $($name:ident($($kind:ty),*)),*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(component: Component, $(_: $kind),*) -> c_int {
            refuse(component, $what)
        }
    )*};
}

refused!("clocks":
    fmi3GetIntervalDecimal(*const u32, usize, *mut f64, *mut c_int),
    fmi3GetIntervalFraction(*const u32, usize, *mut u64, *mut u64, *mut c_int),
    fmi3GetShiftDecimal(*const u32, usize, *mut f64),
    fmi3GetShiftFraction(*const u32, usize, *mut u64, *mut u64),
    fmi3SetIntervalDecimal(*const u32, usize, *const f64),
    fmi3SetIntervalFraction(*const u32, usize, *const u64, *const u64),
    fmi3SetShiftDecimal(*const u32, usize, *const f64),
    fmi3SetShiftFraction(*const u32, usize, *const u64, *const u64),
    fmi3ActivateModelPartition(u32, f64)
);

refused!("structural parameters":
    fmi3EnterConfigurationMode(),
    fmi3ExitConfigurationMode(),
    fmi3GetNumberOfVariableDependencies(u32, *mut usize),
    fmi3GetVariableDependencies(u32, *mut usize, *mut u32, *mut usize, *mut c_int, usize)
);

macro_rules! derivatives {
    ($(($name:ident, $method:ident, $is_adjoint:literal)),*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            component: Component,
            unknowns: *const u32,
            n_unknowns: usize,
            knowns: *const u32,
            n_knowns: usize,
            seed: *const f64,
            n_seed: usize,
            sensitivity: *mut f64,
            n_sensitivity: usize,
        ) -> c_int {
            call(component, |instance| {
                let counts = if $is_adjoint { (n_unknowns, n_knowns) } else { (n_knowns, n_unknowns) };
                same(counts.0, n_seed)?;
                same(counts.1, n_sensitivity)?;
                // SAFETY: lists of the importer of these lengths.
                let (unknowns, knowns, seed, into) = unsafe {
                    (
                        list(unknowns, n_unknowns)?,
                        list(knowns, n_knowns)?,
                        list(seed, n_seed)?,
                        room(sensitivity, n_sensitivity)?,
                    )
                };
                instance.$method(unknowns, knowns, seed, into)
            })
        }
    )*};
}

derivatives!(
    (fmi3GetDirectionalDerivative, directional, false),
    (fmi3GetAdjointDerivative, adjoint, true)
);

#[unsafe(no_mangle)]
pub extern "C" fn fmi3EnterEventMode(component: Component) -> c_int {
    call(component, |_| Ok(Code::Ok))
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi3EvaluateDiscreteStates(component: Component) -> c_int {
    call(component, |_| Ok(Code::Ok))
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi3EnterContinuousTimeMode(component: Component) -> c_int {
    call(component, |_| Ok(Code::Ok))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3UpdateDiscreteStates(
    component: Component,
    more: *mut bool,
    ends: *mut bool,
    nominals: *mut bool,
    values: *mut bool,
    has_next: *mut bool,
    next: *mut f64,
) -> c_int {
    call(component, |instance| {
        let updated = instance.update()?;
        // SAFETY: room for one value each.
        unsafe {
            put(more, false);
            put(ends, updated.ends.is_some());
            put(nominals, false);
            put(values, updated.has_moved);
            put(has_next, updated.next.is_some());
            put(next, updated.next.unwrap_or(0.0));
        }
        Ok(Code::Ok)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3CompletedIntegratorStep(
    component: Component,
    _no_return: bool,
    event: *mut bool,
    ends: *mut bool,
) -> c_int {
    call(component, |instance| {
        let drifted = instance.has_drifted()?;
        // SAFETY: room for one value each.
        unsafe {
            put(event, drifted);
            put(ends, false);
        }
        Ok(Code::Ok)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi3SetTime(component: Component, time: f64) -> c_int {
    call(component, |instance| instance.set_time(time))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3SetContinuousStates(
    component: Component,
    states: *const f64,
    n: usize,
) -> c_int {
    call(component, |instance| {
        // SAFETY: a list of the importer of this length.
        instance.set_states(unsafe { list(states, n)? })
    })
}

macro_rules! exchange {
    ($(($name:ident, $method:ident)),*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(component: Component, values: *mut f64, n: usize) -> c_int {
            call(component, |instance| {
                // SAFETY: room for this many values.
                instance.$method(unsafe { room(values, n)? })
            })
        }
    )*};
}

exchange!(
    (fmi3GetContinuousStateDerivatives, rates),
    (fmi3GetContinuousStates, states),
    (fmi3GetEventIndicators, indicators),
    (fmi3GetNominalsOfContinuousStates, nominals)
);

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3GetNumberOfEventIndicators(
    component: Component,
    n: *mut usize,
) -> c_int {
    call(component, |instance| {
        // SAFETY: room for a number.
        unsafe { put(n, instance.n_indicators()) };
        Ok(Code::Ok)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi3GetNumberOfContinuousStates(
    component: Component,
    n: *mut usize,
) -> c_int {
    call(component, |instance| {
        // SAFETY: room for a number.
        unsafe { put(n, instance.n_states()) };
        Ok(Code::Ok)
    })
}
