#![doc = include_str!("../README.md")]
//! ## Modules
//!
//! | module | what |
//! |---|---|
//! | [`validator`] | `LogValidator` and `UnifiedLog.analyzeAndValidateRecords` of today's Kafka: accept in place, rebuild, or refuse |
//! | [`profile`] | the same for the brokers of each era from 0.8.2 on: which error code they answer, and which bytes they store |
//!
//! This crate depends on [`kafkacomp_records`] only; segments and their files are in kafkacomp-log.

#![forbid(unsafe_code)]

mod error;
pub mod profile;
pub mod validator;

pub use error::{Error, Result};
