#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::string_slice)]

pub mod consumer_protocol;
mod decode;
pub mod fault;
pub mod json;
pub mod library;
mod reader;
pub mod schema;
mod text;
pub mod topic;
pub mod value;
pub mod versions;

pub use fault::{Fault, FaultKind, Unknown};
pub use schema::Schema;
pub use topic::{Decoded, Topic, decode_control};
pub use value::{Message, Struct, Value};
