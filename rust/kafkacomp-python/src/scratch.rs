//! One output buffer per thread, kept warm: work is done into it while the GIL is free, and copied to where
//! Python wants it while it is held.

use std::cell::RefCell;

use kafkacomp_core::buffer::OutputBuffer;

thread_local! {
    static KEPT: RefCell<OutputBuffer> = RefCell::default();
}

/// Runs `f` with the buffer, empty and capped at `limit` bytes.
pub fn with_output<R>(limit: usize, f: impl FnOnce(&mut OutputBuffer) -> R) -> R {
    let mut out = KEPT.take();
    out.reset(limit);
    let result = f(&mut out);
    out.reset(0);
    KEPT.set(out);
    result
}
