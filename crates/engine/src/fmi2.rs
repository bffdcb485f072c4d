//! The functions of FMI 2.0.
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

use crate::boundary::{
    Listener, Log, Logger2, call, create, folder_of, free, list, put, room, text, texts,
};
use crate::instance::{Answer, Code, Instance, Kept};
use daelight_lang::Type;
use std::ffi::{CString, c_char, c_int, c_void};

/// `fmi2CallbackFunctions`.
#[repr(C)]
pub struct Callbacks {
    logger: Option<Logger2>,
    allocate: *const c_void,
    free: *const c_void,
    finished: *const c_void,
    environment: *mut c_void,
}

/// `fmi2EventInfo`.
#[repr(C)]
pub struct EventInfo {
    needs_more: c_int,
    ends: c_int,
    nominals_changed: c_int,
    values_changed: c_int,
    has_next: c_int,
    next: f64,
}

type Component = *mut c_void;

#[unsafe(no_mangle)]
pub extern "C" fn fmi2GetTypesPlatform() -> *const c_char {
    c"default".as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi2GetVersion() -> *const c_char {
    c"2.0".as_ptr()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2SetDebugLogging(
    component: Component,
    on: c_int,
    n: usize,
    categories: *const *const c_char,
) -> c_int {
    call(component, |instance| {
        // SAFETY: texts of the importer.
        let categories = unsafe { texts(categories, n)? };
        instance.choose_messages(on != 0, &categories)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2Instantiate(
    name: *const c_char,
    kind: c_int,
    token: *const c_char,
    location: *const c_char,
    functions: *const Callbacks,
    _visible: c_int,
    _logging: c_int,
) -> Component {
    // SAFETY: texts of the importer, and null or its table of functions.
    let (name, token, location, functions) =
        unsafe { (text(name), text(token), text(location), functions.as_ref()) };
    let log = Log {
        listener: match functions.and_then(|functions| functions.logger) {
            Some(logger) => Listener::Two(logger),
            None => Listener::Nobody,
        },
        environment: functions.map_or(std::ptr::null_mut(), |f| f.environment),
        name: CString::new(name).unwrap_or_default(),
        wanted: None,
    };
    create(&folder_of(&location), &token, kind == 0, log)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2FreeInstance(component: Component) {
    // SAFETY: the importer does not use it again.
    unsafe { free(component) }
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi2SetupExperiment(
    component: Component,
    has_tolerance: c_int,
    tolerance: f64,
    from: f64,
    has_end: c_int,
    to: f64,
) -> c_int {
    let tolerance = (has_tolerance != 0).then_some(tolerance);
    let to = (has_end != 0).then_some(to);
    call(component, |instance| instance.plan(from, to, tolerance))
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi2EnterInitializationMode(component: Component) -> c_int {
    call(component, |_| Ok(Code::Ok))
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi2ExitInitializationMode(component: Component) -> c_int {
    call(component, |instance| instance.begin())
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi2Terminate(component: Component) -> c_int {
    call(component, |_| Ok(Code::Ok))
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi2Reset(component: Component) -> c_int {
    call(component, |instance| instance.reset())
}

/// Values of one type into a list of numbers of another.
unsafe fn get<T>(
    component: Component,
    references: *const u32,
    n: usize,
    values: *mut T,
    (ty, convert): (Type, fn(f64) -> T),
) -> c_int {
    call(component, |instance| {
        // SAFETY: lists of the importer of this length.
        let (references, values) = unsafe { (list(references, n)?, room(values, n)?) };
        for (reference, value) in references.iter().zip(values) {
            *value = convert(instance.get(*reference, ty)?);
        }
        Ok(Code::Ok)
    })
}

/// Values of a list given to variables of one type.
unsafe fn set<T: Copy>(
    component: Component,
    references: *const u32,
    n: usize,
    values: *const T,
    (ty, convert): (Type, fn(T) -> f64),
) -> c_int {
    call(component, |instance| {
        // SAFETY: lists of the importer of this length.
        let (references, values) = unsafe { (list(references, n)?, list(values, n)?) };
        let mut code = Code::Ok;
        for (reference, value) in references.iter().zip(values) {
            match instance.set(*reference, ty, convert(*value))? {
                Code::Ok => {}
                other => code = other,
            }
        }
        Ok(code)
    })
}

macro_rules! values {
    ($get:ident, $set:ident, $number:ty, $ty:expr, $to:expr, $from:expr) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get(
            component: Component,
            references: *const u32,
            n: usize,
            values: *mut $number,
        ) -> c_int {
            // SAFETY: passed on as it came.
            unsafe { get(component, references, n, values, ($ty, $to)) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $set(
            component: Component,
            references: *const u32,
            n: usize,
            values: *const $number,
        ) -> c_int {
            // SAFETY: passed on as it came.
            unsafe { set(component, references, n, values, ($ty, $from)) }
        }
    };
}

values!(fmi2GetReal, fmi2SetReal, f64, Type::Real, |x| x, |x| x);
values!(
    fmi2GetInteger,
    fmi2SetInteger,
    c_int,
    Type::Integer,
    |x| x as c_int,
    f64::from
);
values!(
    fmi2GetBoolean,
    fmi2SetBoolean,
    c_int,
    Type::Boolean,
    |x| c_int::from(x != 0.0),
    |x| f64::from(u8::from(x != 0))
);

/// There are no texts among the variables.
fn no_text(component: Component, n: usize) -> c_int {
    call(component, |_| match n {
        0 => Ok(Code::Ok),
        _ => Err("the model has no variables of type String".to_string()),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi2GetString(
    component: Component,
    _references: *const u32,
    n: usize,
    _values: *mut *const c_char,
) -> c_int {
    no_text(component, n)
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi2SetString(
    component: Component,
    _references: *const u32,
    n: usize,
    _values: *const *const c_char,
) -> c_int {
    no_text(component, n)
}

/// Copies the state into a new place, or into the one that the importer has.
///
/// # Safety
///
/// `state` is null or that of null or of a state that was kept.
pub(crate) unsafe fn keep(component: Component, state: *mut *mut c_void) -> c_int {
    call(component, |instance| {
        // SAFETY: the caller says so.
        match unsafe { state.as_mut() } {
            None => Err("there is no place for the state".to_string()),
            Some(place) => {
                if place.is_null() {
                    *place = Box::into_raw(Box::new(instance.keep())).cast();
                } else {
                    // SAFETY: it was made above.
                    unsafe { *place.cast::<Kept>() = instance.keep() };
                }
                Ok(Code::Ok)
            }
        }
    })
}

/// What a state holds, for a function of the instance.
///
/// # Safety
///
/// `state` is null or a state that was kept.
pub(crate) unsafe fn with_state(
    component: Component,
    state: *mut c_void,
    what: impl FnOnce(&mut Instance, &Kept) -> Answer,
) -> c_int {
    call(component, |instance| {
        // SAFETY: the caller says so.
        match unsafe { state.cast::<Kept>().as_ref() } {
            None => Err("the state is null".to_string()),
            Some(kept) => what(instance, kept),
        }
    })
}

/// Frees a state.
///
/// # Safety
///
/// `state` is null or that of null or of a state that was kept.
pub(crate) unsafe fn forget(component: Component, state: *mut *mut c_void) -> c_int {
    call(component, |_| {
        // SAFETY: the caller says so.
        if let Some(place) = unsafe { state.as_mut() }
            && !place.is_null()
        {
            // SAFETY: `keep` made it of a box.
            drop(unsafe { Box::from_raw(place.cast::<Kept>()) });
            *place = std::ptr::null_mut();
        }
        Ok(Code::Ok)
    })
}

/// A state from its bytes.
///
/// # Safety
///
/// The bytes are those of a list of this length, `state` has room for a pointer.
pub(crate) unsafe fn revive(
    component: Component,
    bytes: *const u8,
    n: usize,
    state: *mut *mut c_void,
) -> c_int {
    call(component, |instance| {
        // SAFETY: the caller says so.
        let bytes = unsafe { list(bytes, n)? };
        let kept = instance.state_of(bytes)?;
        // SAFETY: the caller says so.
        unsafe { put(state, Box::into_raw(Box::new(kept)).cast()) };
        Ok(Code::Ok)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2GetFMUstate(component: Component, state: *mut *mut c_void) -> c_int {
    // SAFETY: as the standard says.
    unsafe { keep(component, state) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2SetFMUstate(component: Component, state: *mut c_void) -> c_int {
    // SAFETY: as the standard says.
    unsafe { with_state(component, state, |instance, kept| instance.restore(kept)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2FreeFMUstate(component: Component, state: *mut *mut c_void) -> c_int {
    // SAFETY: as the standard says.
    unsafe { forget(component, state) }
}

/// How many bytes a state takes.
///
/// # Safety
///
/// `state` is null or a state that was kept, `size` has room for a number.
pub(crate) unsafe fn size_of_state(
    component: Component,
    state: *mut c_void,
    size: *mut usize,
) -> c_int {
    let tell = |instance: &mut Instance, kept: &Kept| {
        // SAFETY: the caller says so.
        unsafe { put(size, instance.bytes(kept)?.len()) };
        Ok(Code::Ok)
    };
    // SAFETY: the caller says so.
    unsafe { with_state(component, state, tell) }
}

/// Writes a state as bytes.
///
/// # Safety
///
/// `state` is null or a state that was kept, `bytes` has room for `size` bytes.
pub(crate) unsafe fn write_state(
    component: Component,
    state: *mut c_void,
    bytes: *mut u8,
    size: usize,
) -> c_int {
    let write = |instance: &mut Instance, kept: &Kept| {
        let all = instance.bytes(kept)?;
        // SAFETY: the caller says so.
        let room = unsafe { room(bytes, size)? };
        match room.get_mut(..all.len()) {
            Some(room) => room.copy_from_slice(&all),
            None => return Err(format!("a state takes {} bytes, not {size}", all.len())),
        }
        Ok(Code::Ok)
    };
    // SAFETY: the caller says so.
    unsafe { with_state(component, state, write) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2SerializedFMUstateSize(
    component: Component,
    state: *mut c_void,
    size: *mut usize,
) -> c_int {
    // SAFETY: as the standard says.
    unsafe { size_of_state(component, state, size) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2SerializeFMUstate(
    component: Component,
    state: *mut c_void,
    bytes: *mut u8,
    size: usize,
) -> c_int {
    // SAFETY: as the standard says.
    unsafe { write_state(component, state, bytes, size) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2DeSerializeFMUstate(
    component: Component,
    bytes: *const u8,
    size: usize,
    state: *mut *mut c_void,
) -> c_int {
    // SAFETY: as the standard says.
    unsafe { revive(component, bytes, size, state) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2SetRealInputDerivatives(
    component: Component,
    references: *const u32,
    n: usize,
    orders: *const c_int,
    values: *const f64,
) -> c_int {
    call(component, |instance| {
        // SAFETY: lists of the importer of this length.
        let (references, orders, values) =
            unsafe { (list(references, n)?, list(orders, n)?, list(values, n)?) };
        for ((&reference, &order), &value) in references.iter().zip(orders).zip(values) {
            instance.set_input_derivative(reference, order, value)?;
        }
        Ok(Code::Ok)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2GetRealOutputDerivatives(
    component: Component,
    references: *const u32,
    n: usize,
    orders: *const c_int,
    values: *mut f64,
) -> c_int {
    call(component, |instance| {
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
pub extern "C" fn fmi2DoStep(
    component: Component,
    from: f64,
    step: f64,
    _no_return: c_int,
) -> c_int {
    call(component, |instance| instance.step(from, step))
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi2CancelStep(component: Component) -> c_int {
    call(component, |_| {
        Err("steps are not made in the background".to_string())
    })
}

/// The kind of status that is the last time reached, and the one that says whether the run is over.
const LAST_TIME: c_int = 2;
const TERMINATED: c_int = 3;

fn no_status(component: Component, kind: c_int) -> c_int {
    call(component, |_| {
        Err(format!("there is no status of kind {kind}"))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi2GetStatus(component: Component, kind: c_int, _value: *mut c_int) -> c_int {
    no_status(component, kind)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2GetRealStatus(
    component: Component,
    kind: c_int,
    value: *mut f64,
) -> c_int {
    if kind != LAST_TIME {
        return no_status(component, kind);
    }
    call(component, |instance| {
        // SAFETY: room for a number.
        unsafe { put(value, instance.time()) };
        Ok(Code::Ok)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi2GetIntegerStatus(
    component: Component,
    kind: c_int,
    _value: *mut c_int,
) -> c_int {
    no_status(component, kind)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2GetBooleanStatus(
    component: Component,
    kind: c_int,
    value: *mut c_int,
) -> c_int {
    if kind != TERMINATED {
        return no_status(component, kind);
    }
    call(component, |instance| {
        // SAFETY: room for a number.
        unsafe { put(value, c_int::from(instance.is_over)) };
        Ok(Code::Ok)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi2GetStringStatus(
    component: Component,
    kind: c_int,
    _value: *mut *const c_char,
) -> c_int {
    no_status(component, kind)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2GetDirectionalDerivative(
    component: Component,
    unknowns: *const u32,
    n_unknowns: usize,
    knowns: *const u32,
    n_knowns: usize,
    seed: *const f64,
    sensitivity: *mut f64,
) -> c_int {
    call(component, |instance| {
        // SAFETY: lists of the importer of these lengths.
        let (unknowns, knowns, seed, into) = unsafe {
            (
                list(unknowns, n_unknowns)?,
                list(knowns, n_knowns)?,
                list(seed, n_knowns)?,
                room(sensitivity, n_unknowns)?,
            )
        };
        instance.directional(unknowns, knowns, seed, into)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi2EnterEventMode(component: Component) -> c_int {
    call(component, |_| Ok(Code::Ok))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2NewDiscreteStates(
    component: Component,
    info: *mut EventInfo,
) -> c_int {
    call(component, |instance| {
        let updated = instance.update()?;
        let event = EventInfo {
            needs_more: 0,
            ends: c_int::from(updated.ends.is_some()),
            nominals_changed: 0,
            values_changed: c_int::from(updated.has_moved),
            has_next: c_int::from(updated.next.is_some()),
            next: updated.next.unwrap_or(0.0),
        };
        // SAFETY: room for the answer.
        unsafe { put(info, event) };
        Ok(Code::Ok)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi2EnterContinuousTimeMode(component: Component) -> c_int {
    call(component, |_| Ok(Code::Ok))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2CompletedIntegratorStep(
    component: Component,
    _no_return: c_int,
    event: *mut c_int,
    ends: *mut c_int,
) -> c_int {
    call(component, |instance| {
        let drifted = instance.has_drifted()?;
        // SAFETY: room for one value each.
        unsafe {
            put(event, c_int::from(drifted));
            put(ends, 0);
        }
        Ok(Code::Ok)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn fmi2SetTime(component: Component, time: f64) -> c_int {
    call(component, |instance| instance.set_time(time))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmi2SetContinuousStates(
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
    (fmi2GetDerivatives, rates),
    (fmi2GetContinuousStates, states),
    (fmi2GetEventIndicators, indicators),
    (fmi2GetNominalsOfContinuousStates, nominals)
);
