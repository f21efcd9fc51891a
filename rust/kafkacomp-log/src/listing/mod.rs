//! What is in a folder: partitions and their segments, the files next to them, and everything else with a reason.
//!
//! [`list`] lists a path of a [`Store`] once. Names decide ([`names`]), and where a broker was killed during a compaction or split its
//! own rules do ([`loader`]); no segment is opened, except `.swap` files, whose end decides what they replace. A [`Selection`] rules
//! out partitions before the files in their folders are looked at.
//!
//! ```no_run
//! use kafkacomp_log::listing::{ByName, LocalStore, list};
//!
//! # fn main() -> Result<(), kafkacomp_log::listing::ListError> {
//! let selection = ByName::new(Some(vec!["orders-*".to_owned()]), None);
//! let listing = list(&LocalStore, "/var/lib/kafka".as_ref(), &selection)?;
//! for partition in &listing.partitions {
//!     println!("{:?}: {} segments", partition.owner, partition.segments.len());
//! }
//! # Ok(())
//! # }
//! ```

pub mod checkpoints;
mod container;
mod copies;
mod error;
pub mod glob;
mod inspected;
mod kind;
mod list;
mod listed;
pub mod loader;
pub mod names;
mod path;
pub mod remote;
mod search;
mod selection;
mod store;
mod swapped;
mod verdict;

pub use container::{Container, HEAD_BYTES};
pub use copies::{Copies, copies};
pub use error::ListError;

pub use inspected::{InspectedSegment, are_misnamed};
pub use kind::{FileKind, ListedFile, is_not_a_segment, is_side_file};
pub use list::{check_content, check_packed, list, list_file};
pub use listed::{Decision, Failure, ListedPartition, ListedSegment, Listing, LogFile, OtherFile};
pub use search::{list_folder, without_segment};
pub use selection::{All, ByName, Selection, SelectionError};
pub use store::{Entry, LocalStore, Store};
pub use verdict::{DirectoryFinding, SideFileFault, check_side_file};
