//! Contexts of libraries that panic where memory runs out.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `make` makes, `None` if it panics. For constructors whose only panic is a failed allocation (libdeflater's and
/// flate2's have no other way to report one): nothing that existed before takes part in them.
pub(super) fn made<T>(make: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(make)).ok()
}
