//! Constructors of libraries that panic where memory runs out.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// The value that `constructor` returns; `None` if it panics. Only for constructors whose only panic is a failed
/// allocation: libdeflate's and flate2's have no other way to report one. No value that existed before takes part in
/// them, so none can be left in an invalid state.
pub(super) fn construct<T>(constructor: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(constructor)).ok()
}
