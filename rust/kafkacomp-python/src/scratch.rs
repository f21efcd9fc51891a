//! One output buffer for each thread, which is reused. It is filled with the GIL released and copied to a Python object with the GIL
//! held.

use std::cell::RefCell;

use kafkacomp_records::buffer::OutputBuffer;

thread_local! {
    static KEPT: RefCell<OutputBuffer> = RefCell::default();
}

/// Runs `f` with the buffer, which is empty and limited to `limit` bytes.
pub fn with_output<R>(limit: usize, f: impl FnOnce(&mut OutputBuffer) -> R) -> R {
    let mut out = KEPT.take();
    out.reset(limit);
    let result = f(&mut out);
    out.reset(0);
    KEPT.set(out);
    result
}
