//! Entering the interpreter where `PyO3`'s functions are not enough: from threads that Rust started, from callbacks of
//! Arrow streams, and around the caller's code, which may not return before the interpreter ends.
//!
//! A thread that takes the GIL after finalization has begun does not get it: `CPython` up to 3.13 ends the thread by
//! `pthread_exit`, which unwinds the stack and aborts at the first Rust frame that catches panics; from 3.14 on it lets the
//! thread hang. So nothing of ours enters Python once the `atexit` hook has run ([`crate::process`]), and whoever is inside
//! then, and returns too late, hangs.

use std::mem::forget;
use std::ptr::read_volatile;
use std::thread::park;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::process::Inside;

/// Gives the GIL state back, also when the closure panics.
struct Ensured(ffi::PyGILState_STATE);

impl Drop for Ensured {
    #[expect(unsafe_code, reason = "see with_gil")]
    fn drop(&mut self) {
        // SAFETY: pairs with the PyGILState_Ensure of the same thread in `with_gil`.
        unsafe { ffi::PyGILState_Release(self.0) }
    }
}

/// Runs `f` with the GIL held, from a callback of an Arrow stream; `None` if the interpreter is about to end.
///
/// `PyO3` counts per thread how often it is attached and believes the count. pyarrow calls a stream's callbacks
/// (next, release) with the GIL released, and it may do so below a frame of ours: the garbage collector runs in
/// any allocation, and a progress callback may read another scan. `Python::attach` would then take the GIL
/// for held. `PyGILState_Ensure` looks for itself.
#[expect(unsafe_code, reason = "PyO3 has no safe call that looks at the interpreter instead of its own count")]
pub fn with_gil<T>(f: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    let _inside = Inside::enter()?;
    // SAFETY: PyGILState_Ensure may be called from any thread, attached or not, between initialization and finalization.
    // The interpreter was initialized, or this module would not be loaded. Finalization has not begun: it begins after the
    // atexit hook, which waits for `_inside`. If the hook has given up waiting, the call is PyO3's wrapper, which hangs
    // the thread where CPython ends it. A holder of the stream does not keep the interpreter alive, so that alone would
    // not do. Released by the guard on the same thread.
    let _ensured = Ensured(unsafe { ffi::PyGILState_Ensure() });
    Some(Python::attach(f))
}

/// Runs `f` attached, from a thread that Python need not know; `None` if the interpreter is about to end.
pub fn attach<T>(f: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    let _inside = Inside::enter()?;
    Some(Python::attach(f))
}

/// Hangs the thread when it is dropped.
struct Hang;

impl Drop for Hang {
    fn drop(&mut self) {
        loop {
            park();
        }
    }
}

/// Runs `f`, which enters code that is written in Python and may take as long as it likes. Where `CPython` unwinds the stack
/// because the interpreter ended meanwhile, the thread hangs instead. `f` owns nothing that a destructor belongs to.
///
/// The innermost frame's last local is dropped first when the stack is unwound, so nothing else is. A forced unwind through a
/// destructor is unspecified in Rust; that the destructor runs is what `PyO3`'s own wrappers of `PyGILState_Ensure` and
/// `PyEval_RestoreThread` rely on as well. Without it, the process aborts.
#[inline]
fn or_hang<T>(f: impl FnOnce() -> T) -> T {
    let hang = Hang;
    let result = f();
    forget(hang);
    result
}

type Object = *mut ffi::PyObject;

/// A function of `CPython`'s by an ABI that allows unwinding. The pointer is read as volatile, so that the compiler cannot know
/// which function it is: it takes those that `PyO3` declares for ones that nothing unwinds through, by whatever pointer they are
/// called, and would leave out what [`or_hang`] is there for.
macro_rules! unwinding {
    ($function:path, ($($argument:ty),+)) => {{
        let function: unsafe extern "C" fn($($argument),+) -> Object = $function;
        // SAFETY: a live local; the same function by an ABI that differs only in that unwinding is allowed.
        unsafe { read_volatile((&raw const function).cast::<unsafe extern "C-unwind" fn($($argument),+) -> Object>()) }
    }};
}

/// Calls `callable`, which may be written in Python.
///
/// # Errors
/// What it raises.
pub fn call<'py, A>(callable: &Bound<'py, PyAny>, arguments: A) -> PyResult<Bound<'py, PyAny>>
where
    A: IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>>,
    PyErr: From<A::Error>,
{
    call_with(callable, arguments, None)
}

/// As [`call`], with keyword arguments.
///
/// # Errors
/// What it raises.
#[expect(unsafe_code, reason = "PyO3's calls are declared as if nothing could unwind through them")]
pub fn call_with<'py, A>(
    callable: &Bound<'py, PyAny>,
    arguments: A,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>>
where
    A: IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>>,
    PyErr: From<A::Error>,
{
    let function = unwinding!(ffi::PyObject_Call, (Object, Object, Object));
    let arguments = arguments.into_pyobject(callable.py())?;
    let (callee, tuple) = (callable.as_ptr(), arguments.as_ptr());
    let keywords = keywords.map_or(std::ptr::null_mut(), Bound::as_ptr);
    // SAFETY: all are live objects of this interpreter, to which the thread is attached; the keyword arguments are a
    // dictionary or null.
    let result = or_hang(|| unsafe { function(callee, tuple, keywords) });
    // SAFETY: a new reference, or null with the exception set.
    unsafe { Bound::from_owned_ptr_or_err(callable.py(), result) }
}

/// The attribute of this name, which may be a property that is written in Python.
///
/// # Errors
/// What it raises.
#[expect(unsafe_code, reason = "as for `call`")]
pub fn attribute<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let function = unwinding!(ffi::PyObject_GetAttr, (Object, Object));
    let name = PyString::new(object.py(), name);
    let (owner, name) = (object.as_ptr(), name.as_ptr());
    // SAFETY: both are live objects of this interpreter, to which the thread is attached.
    let result = or_hang(|| unsafe { function(owner, name) });
    // SAFETY: a new reference, or null with the exception set.
    unsafe { Bound::from_owned_ptr_or_err(object.py(), result) }
}

/// Goes through an iterable, which may be a generator.
///
/// # Errors
/// What `iter()` raises.
#[expect(unsafe_code, reason = "as for `call`")]
pub fn iterate<'py>(iterable: &Bound<'py, PyAny>) -> PyResult<impl Iterator<Item = PyResult<Bound<'py, PyAny>>>> {
    let py = iterable.py();
    let (begin, next) = (unwinding!(ffi::PyObject_GetIter, (Object)), unwinding!(ffi::PyIter_Next, (Object)));
    let iterable = iterable.as_ptr();
    // SAFETY: a live object of this interpreter, to which the thread is attached.
    let iterator = or_hang(|| unsafe { begin(iterable) });
    // SAFETY: a new reference, or null with the exception set.
    let iterator = unsafe { Bound::<PyAny>::from_owned_ptr_or_err(py, iterator)? };
    Ok(std::iter::from_fn(move || {
        let iterator = iterator.as_ptr();
        // SAFETY: a live iterator of this interpreter, to which the thread is attached.
        let item = or_hang(|| unsafe { next(iterator) });
        // SAFETY: a new reference, or null, at the end without an exception.
        let item = unsafe { Bound::from_owned_ptr_or_opt(py, item) };
        item.map(Ok).or_else(|| PyErr::take(py).map(Err))
    }))
}

/// Something of Python's that threads of ours own: attached when it is dropped, and leaked once the interpreter is about
/// to end. `PyO3` would put it on a list that has a lock, which another thread may hold during a fork.
#[derive(Debug)]
pub struct Held<T>(Option<T>);

impl<T> Held<T> {
    /// Takes it.
    pub fn new(object: T) -> Self {
        Self(Some(object))
    }

    /// It; `None` never, but for a moment in `drop`.
    pub fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }
}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        let mut object = self.0.take();
        if object.is_some() && attach(|_| drop(object.take())).is_none() {
            forget(object);
        }
    }
}
