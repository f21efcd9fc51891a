//! The positions of the fields of batches and messages.

pub mod v0_v1;
pub mod v2;
