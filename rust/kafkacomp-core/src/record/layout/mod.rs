//! Where the fields of batches and messages stand in their bytes.

pub mod v0_v1;
pub mod v2;
