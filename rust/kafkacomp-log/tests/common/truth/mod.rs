//! Logs whose truth is known, damage to them, and the promises that a judgement of them must keep.

#![allow(dead_code, reason = "each test binary uses a part")]

pub mod damage;
pub mod logs;
pub mod promises;
pub mod shares;
