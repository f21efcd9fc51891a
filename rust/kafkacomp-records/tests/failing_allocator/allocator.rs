//! An allocator that refuses one large allocation, or all of them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The size from which on an allocation is large. Smaller ones always succeed, because the standard library and the test need some.
static LARGE: AtomicUsize = AtomicUsize::new(1 << 20);

/// How many large allocations succeed before one is refused.
static LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);
/// How many large allocations are refused after that.
static REFUSED: AtomicUsize = AtomicUsize::new(0);
/// Large allocations so far.
static SEEN: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, with counters.
pub struct Failing;

/// Whether an allocation of this size is refused.
fn refuses(size: usize) -> bool {
    if size < LARGE.load(Ordering::SeqCst) {
        return false;
    }
    SEEN.fetch_add(1, Ordering::SeqCst);
    let left = LEFT.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
    left.is_err() && REFUSED.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| count.checked_sub(1)).is_ok()
}

// SAFETY: every call is passed on unchanged to the system's allocator, or returns null, which the trait allows.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if refuses(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if refuses(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > layout.size() && refuses(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Runs `work` with another size from which on an allocation is large.
pub fn large_from<R>(size: usize, work: impl FnOnce() -> R) -> R {
    let before = LARGE.swap(size, Ordering::SeqCst);
    let result = work();
    LARGE.store(before, Ordering::SeqCst);
    result
}

/// Runs `work` while `count` large allocations after the first `after` are refused.
pub fn refusing<R>(after: usize, count: usize, work: impl FnOnce() -> R) -> R {
    LEFT.store(after, Ordering::SeqCst);
    REFUSED.store(count, Ordering::SeqCst);
    let result = work();
    LEFT.store(usize::MAX, Ordering::SeqCst);
    result
}

/// What `work` returns, and how many large allocations it made.
pub fn counting<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let before = SEEN.load(Ordering::SeqCst);
    let result = work();
    (result, SEEN.load(Ordering::SeqCst) - before)
}
