//! The map of a log: which batches of a partition belong to it, at which offsets, and what is missing.
//!
//! One judgement for all readers and tools. It is pure: a survey turns each segment file into facts, [`windows`] and [`judge()`]
//! judge each file by itself, and [`merge`] joins them. What is stated here is explained in `docs/design/map.md`.
//!
//! ```text
//! bytes --survey--> facts --judge--> segment maps --merge--> log map: batches in the order of offsets, missing ranges
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`ranges`], [`facts`] | half-open ranges; batches, corrupt bytes and zeros |
//! | [`survey`], [`surveyed_log`] | facts from the bytes of segment files, as little as settles them; the only I/O |
//! | [`names`] | rule 1: the window of a file, from its name to the next believed one |
//! | [`judge`](mod@judge), [`segment`] | rule 2: the batches of one file that are in place |
//! | [`partition`] | rules 3 to 7: all files, holes, restored batches, what is missing |
//! | [`stretch`], [`epochs`] | what is delivered, in the order of offsets; altered leader epochs |
//! | [`in_order`] | what readers compare from one batch to the next: as long as it is in order, nothing is judged |
//! | [`log_end`], [`reached`], [`last_file`] | rule 11: whether the log was longer |
//! | [`hints`] | what is known besides the files |
//! | [`finding`], [`wording`] | what is to be reported, as data; its words |

mod assembly;
mod chain;
pub mod compare;
mod contested;
pub mod epochs;
pub mod facts;
pub mod finding;
pub mod hints;
mod holes;
pub mod in_order;
#[cfg(any(test, feature = "fuzzing"))]
pub mod invariants;
pub mod judge;
pub mod last_file;
pub mod log_end;
pub mod missing;
pub mod names;
pub mod partition;
mod placed;
pub mod ranges;
pub mod reached;
mod restore;
mod runs;
pub mod segment;
pub mod stored_records;
pub mod stretch;
pub mod survey;
pub mod surveyed_log;
pub mod truncation;
mod whole_files;
pub mod wording;

#[cfg(test)]
mod tests;

pub use compare::{Agreement, CompareRecords};
pub use epochs::EpochFault;
pub use facts::{BatchFact, BatchId, Fact, SegmentFacts};
pub use finding::Finding;
pub use hints::Hints;
pub use in_order::InOrder;
pub use judge::judge;
pub use last_file::LastFile;
pub use log_end::{EndSource, EndWitness};
pub use missing::MissingOffsets;
pub use names::windows;
pub use partition::{LogMap, map_of, merge};
pub use placed::Placement;
pub use ranges::{ByteRange, OffsetRange};
pub use reached::ReachedOffsets;
pub use segment::{SegmentMap, Use};
pub use stored_records::StoredRecords;
pub use stretch::Stretch;
pub use survey::Survey;
pub use surveyed_log::{FileError, LogFile, SurveyedLog};
