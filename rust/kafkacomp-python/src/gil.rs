//! The GIL where `PyO3`'s own count cannot be relied on.

use pyo3::ffi::{PyGILState_Ensure, PyGILState_Release, PyGILState_STATE};
use pyo3::prelude::*;

/// Gives the GIL state back, also when the closure panics.
struct Ensured(PyGILState_STATE);

impl Drop for Ensured {
    #[expect(unsafe_code, reason = "see with_gil")]
    fn drop(&mut self) {
        // SAFETY: pairs with the PyGILState_Ensure of the same thread in `with_gil`.
        unsafe { PyGILState_Release(self.0) }
    }
}

/// Runs `f` with the GIL held, from a callback of an Arrow stream.
///
/// `PyO3` counts per thread how often it is attached and believes the count. pyarrow calls a stream's callbacks
/// (next, release) with the GIL released, and it may do so below a frame of ours: the garbage collector runs in
/// any allocation, and a progress callback may read another scan. `Python::attach` would then take the GIL
/// for held. `PyGILState_Ensure` looks for itself.
#[expect(unsafe_code, reason = "PyO3 has no safe call that looks at the interpreter instead of its own count")]
pub fn with_gil<T>(f: impl FnOnce(Python<'_>) -> T) -> T {
    // SAFETY: may be called from any thread, attached or not, while the interpreter lives, which it does
    // as long as somebody holds the stream; released by the guard on the same thread.
    let _ensured = Ensured(unsafe { PyGILState_Ensure() });
    Python::attach(f)
}
