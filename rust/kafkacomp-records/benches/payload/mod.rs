//! What the benchmarks compress: text like real events, and noise, the same on every machine.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each benchmark uses its part of it")]

use std::fmt::Write as _;

/// Rows of about 265 bytes with the variety of real ones.
pub fn json(size: usize) -> Vec<u8> {
    let mut text = String::new();
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    while text.len() < size {
        let (day, hour, delay) = (next(28) + 1, next(24), next(90));
        let _ = writeln!(
            text,
            r#"{{"year":2013,"month":{},"day":{day},"dep_time":{}.0,"sched_dep_time":{},"dep_delay":{delay}.0,"arr_time":{}.0,"sched_arr_time":{},"arr_delay":{}.0,"carrier":"{}","flight":{},"tailnum":"N{}UA","origin":"EWR","dest":"IAH","air_time":{}.0,"distance":{},"hour":{hour},"minute":{}}}"#,
            next(12) + 1,
            next(2400),
            next(2400),
            next(2400),
            next(2400),
            next(90),
            ["UA", "AA", "B6", "DL"][next(4) as usize],
            next(9000),
            next(99_999),
            next(400),
            next(3000),
            next(60),
        );
    }
    text.truncate(size);
    text.into_bytes()
}

/// Bytes that no codec makes smaller.
pub fn noise(size: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let bytes = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    });
    bytes.take(size).collect()
}
