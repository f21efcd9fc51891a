//! The pool keeps a bounded number of buffers, and lends none to two users at once.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Barrier;
use std::thread;

use super::*;

/// Pseudorandom numbers, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

fn kept<T>(shelf: &Shelf<T>) -> (usize, usize) {
    let free = shelf.lock().unwrap();
    (free.len(), bytes_of(&free))
}

#[test]
fn what_is_kept_is_bounded() {
    let pool = BufferPool::default();
    let mut numbers = Numbers(1);
    let mut most = 0;
    for _ in 0..300 {
        // Most buffers have the size of those of an Arrow batch, some the largest that is pooled, and some a larger one.
        let bytes = match numbers.below(8) {
            0 => MAX_POOLED_BUFFER - numbers.below(1 << 20),
            1 => MAX_POOLED_BUFFER + 1 + numbers.below(1 << 20),
            2 => numbers.below(u8::LEAST_BYTES),
            _ => (1 << 20) + numbers.below(1 << 20),
        };
        pool.give(Vec::<u8>::with_capacity(bytes));
        let (count, bytes) = kept(&pool.bytes);
        assert!(count <= MOST_FREE && bytes <= MOST_FREE_BYTES, "{count} buffers of {bytes} bytes");
        most = most.max(bytes);
    }
    assert!(most > MOST_FREE_BYTES / 2);
    for count in (0..100).map(|index| 600 + index) {
        pool.give(Vec::<u128>::with_capacity(count));
    }
    assert_eq!(kept(&pool.views).0, MOST_FREE);
    // The last ones.
    assert!(pool.views.lock().unwrap().iter().all(|buffer| buffer.capacity() >= 700 - MOST_FREE));
}

#[test]
fn buffers_of_an_earlier_scan_make_room_for_those_of_this_one() {
    let pool = BufferPool::default();
    for _ in 0..MOST_FREE {
        pool.give(vec![0_u8; 8 << 20]);
    }
    // Views of 1 MiB in a buffer of 8 MiB would be copied.
    let buffer = pool.take_filled(1 << 20).unwrap();
    assert!(buffer.capacity() <= 2 << 20);
    let address = buffer.as_ptr();
    pool.give(buffer);
    let again = pool.take_filled(1 << 20).unwrap();
    assert_eq!(again.as_ptr(), address);
}

#[test]
fn a_buffer_above_the_limit_and_a_small_one_are_freed() {
    let pool = Arc::new(BufferPool::default());
    drop(pool.lend(vec![1_u8; MAX_POOLED_BUFFER + 1]));
    drop(pool.lend(vec![1_u8; u8::LEAST_BYTES - 1]));
    assert_eq!(kept(&pool.bytes), (0, 0));
    let lent = pool.lend(vec![1_u8; u8::LEAST_BYTES]);
    let part = lent.slice_with_length(10, 5);
    drop(lent);
    assert_eq!(kept(&pool.bytes).0, 0, "a slice of the buffer is in use");
    drop(part);
    assert_eq!(kept(&pool.bytes), (1, u8::LEAST_BYTES));
}

/// Consumers in several threads hold buffers for a random time; none is written to before they free it.
#[test]
fn held_buffers_are_not_written_to() {
    let pool = Arc::new(BufferPool::default());
    let barrier = Barrier::new(3);
    thread::scope(|scope| {
        for seed in 1..=3 {
            let (pool, barrier) = (&pool, &barrier);
            scope.spawn(move || {
                let mut numbers = Numbers(seed);
                let mut held: Vec<(u8, Buffer)> = Vec::new();
                barrier.wait();
                for step in 0..400_usize {
                    let bytes = u8::LEAST_BYTES + numbers.below(4096);
                    let mark = (step * 3) as u8 ^ seed as u8;
                    let mut buffer = match numbers.below(3) {
                        0 => pool.take_filled(bytes).unwrap(),
                        1 => pool.take(bytes),
                        _ => pool.take_warm(bytes),
                    };
                    buffer.resize(bytes, 0);
                    buffer.fill(mark);
                    held.push((mark, pool.lend(buffer)));
                    while held.len() > numbers.below(12) {
                        let (mark, buffer) = held.swap_remove(numbers.below(held.len()));
                        assert!(buffer.iter().all(|byte| *byte == mark));
                    }
                }
            });
        }
    });
    let (count, bytes) = kept(&pool.bytes);
    assert!((1..=MOST_FREE).contains(&count) && bytes <= MOST_FREE_BYTES);
}

/// After a fork in another thread's critical section, the lock is never released.
#[test]
fn a_lock_that_is_held_is_not_waited_for_long() {
    let pool = Arc::new(BufferPool::default());
    pool.give(vec![7_u8; u8::LEAST_BYTES]);
    let locked = pool.bytes.lock().unwrap();
    assert_eq!(pool.take_filled(u8::LEAST_BYTES).unwrap(), vec![0; with_room(u8::LEAST_BYTES)]);
    assert_eq!(pool.take_largest().capacity(), 0);
    drop(pool.lend(vec![1_u8; u8::LEAST_BYTES]));
    drop(locked);
    assert_eq!(kept(&pool.bytes).0, 1);
}
