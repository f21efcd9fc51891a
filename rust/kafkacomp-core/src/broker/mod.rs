//! What a broker does with a record set that a producer sends.
//!
//! | module | what |
//! |---|---|
//! | [`validator`] | `LogValidator` and `UnifiedLog.analyzeAndValidateRecords` of today's Kafka: accept in place, rebuild, or refuse |
//! | [`profile`] | the same for the brokers of each era from 0.8.2 on: which error code they answer, and which bytes they store |
//!
//! Stands on [`record`](crate::record) alone; segments and their files are [`log`](crate::log)'s.

mod error;
pub mod profile;
pub mod validator;

pub use error::{Error, Result};
