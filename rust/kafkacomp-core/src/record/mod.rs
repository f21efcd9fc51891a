//! Message formats 0, 1 and 2.

pub mod control;

pub use control::{ControlFault, ControlRecord, ControlRecordType};
