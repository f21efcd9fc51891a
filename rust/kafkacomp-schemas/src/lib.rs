#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::string_slice)]

pub mod consumer_protocol;
mod decode;
pub mod dump_log;
pub mod fault;
pub mod groups;
pub mod json;
pub mod library;
pub mod metadata;
mod reader;
pub mod record;
pub mod remote_segments;
pub mod schema;
pub mod secrets;
pub mod share_groups;
mod text;
pub mod topic;
pub mod transactions;
pub mod value;
pub mod versions;

pub use fault::{Fault, FaultKind, Unknown};
pub use record::{Decoded, decode_control};
pub use schema::Schema;
pub use topic::Topic;
pub use value::{Message, Struct, Value};
