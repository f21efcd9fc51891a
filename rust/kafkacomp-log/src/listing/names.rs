//! The meaning of the names of files and folders in a broker's log directory.
//!
//! ```text
//! <topic>-<partition>/                          a partition; its number follows the last dash
//!     <20 digits>.log                           a segment, named by its base offset
//!     <20 digits>.kafka                         a segment of Kafka 0.7, named by the position of its first byte
//!     <20 digits>.{index,timeindex,txnindex,snapshot}    its side files
//!     <any of these>.{swap,cleaned,deleted}     being swapped in or deleted: see `loader`
//! <topic>-<partition>.<32 hex digits>-{delete,future,stray}/ a partition that is not part of the broker's logs
//! <topic>-<topic id>/<partition>/<20 digits>-<segment id>.log    tiered storage, Aiven's plugin
//! <topic>-<partition>-<topic id>/<20 digits>-<segment id>.log    tiered storage, Kafka's LocalTieredStorage
//! ```
//!
//! Offsets have at most 63 bits and partitions 31: names with greater numbers are not recognized. Names are text here; what is not
//! UTF-8 in a name is never part of one that is recognized, but a topic is only taken from a name that is UTF-8 as a whole.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The suffix of a file that has not replaced others yet.
pub const SWAP: &str = ".swap";
/// The suffix of a file that a broker is about to remove.
pub const DELETED: &str = ".deleted";
/// The suffix of a file that a compaction or split has not finished.
pub const CLEANED: &str = ".cleaned";
/// The end of the name of a manifest, by which Aiven's plugin describes a segment in tiered storage.
pub const MANIFEST: &str = ".rsm-manifest";
/// Kafka's own topics (`Topic.isInternal`), those of `KRaft` and of tiered storage; clients do not produce to them.
pub const INTERNAL_TOPICS: [&str; 5] =
    ["__cluster_metadata", "__consumer_offsets", "__remote_log_metadata", "__share_group_state", "__transaction_state"];

/// The digits of an offset in a name.
const DIGITS: usize = 20;
/// The characters of an id in a name.
const ID: usize = 22;
/// The digits of the greatest partition.
const PARTITION_DIGITS: usize = 10;
/// The most bytes of a name, to which Kafka truncates the topic in the name of a marked folder.
const MOST_NAME: usize = 255;

/// Why a folder is not part of a broker's logs, by the end of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mark {
    /// The broker is deleting the partition.
    Delete,
    /// An incomplete copy, from a move between log directories.
    Future,
    /// The broker does not recognize the partition as its own.
    Stray,
}

impl Mark {
    /// The word in the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Future => "future",
            Self::Stray => "stray",
        }
    }
}

/// A topic and the number of a partition.
pub type TopicPartition = (String, i32);

/// The offset in the name of a segment, of a broker or of tiered storage; `None` if the name is not that of a segment.
///
/// ```
/// use kafkacomp_log::listing::names::segment_offset;
///
/// assert_eq!(segment_offset("00000000000000000042.log"), Some(42));
/// assert_eq!(segment_offset("42.log"), None);
/// ```
pub fn segment_offset(name: &str) -> Option<i64> {
    plain_segment(name).or_else(|| tiered_segment(name)).and_then(offset)
}

/// Whether a name is that of a segment in a broker's partition folder.
pub fn is_segment(name: &str) -> bool {
    plain_segment(name).and_then(offset).is_some()
}

/// Whether a name is that of a segment in tiered storage.
pub fn is_tiered_segment(name: &str) -> bool {
    tiered_segment(name).and_then(offset).is_some()
}

/// Whether a name is like that of a segment, but has another number of digits or too great an offset.
pub fn is_like_a_segment(name: &str) -> bool {
    let stem = name.strip_suffix(".log").or_else(|| name.strip_suffix(".kafka"));
    let has_digits = stem.is_some_and(|stem| !stem.is_empty() && are_digits(stem));
    (has_digits || tiered_segment(name).is_some()) && segment_offset(name).is_none()
}

/// Whether a name is that of a segment with the suffix of a compressed file.
pub fn is_compressed_segment(name: &str) -> bool {
    let packed = name.rsplit_once('.');
    packed.is_some_and(|(segment, suffix)| {
        matches!(suffix, "gz" | "zst" | "lz4" | "bz2" | "xz" | "7z" | "zip") && plain_segment(segment).is_some()
    })
}

/// The offset at the beginning of the name of a segment or one of its side files.
pub fn leading_offset(name: &str) -> Option<i64> {
    let (digits, rest) = name.split_at_checked(DIGITS)?;
    let is_longer = rest.starts_with(|next: char| next.is_ascii_digit());
    if is_longer || !are_digits(digits) { None } else { offset(digits) }
}

/// The topic and partition in the name of a folder.
///
/// ```
/// use kafkacomp_log::listing::names::partition_of;
///
/// assert_eq!(partition_of("orders-eu-12".as_ref()), Some(("orders-eu".to_owned(), 12)));
/// assert_eq!(partition_of("orders".as_ref()), None);
/// ```
pub fn partition_of(folder: &OsStr) -> Option<TopicPartition> {
    let (topic, number) = folder.to_str()?.rsplit_once('-')?;
    let is_number = (1..=PARTITION_DIGITS).contains(&number.len()) && are_digits(number);
    let number = number.parse().ok().filter(|_| is_number && !topic.is_empty())?;
    Some((topic.to_owned(), number))
}

/// The topic and partition in the path of a folder of tiered storage.
pub fn tiered_partition_of(folder: &Path) -> Option<TopicPartition> {
    let name = folder.file_name()?.to_str()?;
    let parent = folder.parent().and_then(Path::file_name).and_then(OsStr::to_str);
    if let Some((topic, _)) = parent.and_then(with_topic_id)
        && is_partition_number(name)
    {
        return partition_of(OsStr::new(&format!("{topic}-{name}")));
    }
    partition_of(OsStr::new(with_topic_id(name)?.0))
}

/// The topic id in the path of a folder of tiered storage, as text.
pub fn tiered_topic_id(folder: &Path) -> Option<String> {
    let mut name = folder.file_name()?.to_string_lossy();
    if is_partition_number(&name) {
        name = folder.parent().and_then(Path::file_name)?.to_string_lossy();
    }
    with_topic_id(&name).map(|(_, id)| id.to_owned())
}

/// The topic and partition of the file `name` in a folder, by the path of the folder.
///
/// A topic id in the name of a folder of tiered storage may end in a dash and digits, as the name of a broker's folder does; the
/// file's name shows which one it is.
pub fn owner_of(folder: &Path, name: &str) -> Option<TopicPartition> {
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let own = folder.file_name().filter(|_| !is_tiered_segment(&format!("{stem}.log"))).and_then(given_partition_of);
    own.or_else(|| tiered_partition_of(folder))
}

/// The mark of a folder that is not part of a log.
pub fn mark_of(folder: &str) -> Option<Mark> {
    let (stem, mark) = folder.rsplit_once('-')?;
    let mark = [Mark::Delete, Mark::Future, Mark::Stray].into_iter().find(|each| each.name() == mark)?;
    let (name, hex) = stem.rsplit_once('.')?;
    let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_of_partition = name
        .rsplit_once('-')
        .is_some_and(|(topic, number)| !topic.is_empty() && !number.is_empty() && are_digits(number));
    ((hex.len() == 32 || (is_of_partition && !hex.is_empty())) && is_hex(hex)).then_some(mark)
}

/// Whether the name of a folder marks it as not part of a log: `-delete`, `-future` or `-stray`.
pub fn is_marked(folder: &str) -> bool {
    mark_of(folder).is_some()
}

/// The topic and partition in the name of a folder that is given itself, so that it may also be a marked one.
///
/// The topic in the name of a marked folder may be truncated: see [`may_be_truncated`].
pub fn given_partition_of(folder: &OsStr) -> Option<TopicPartition> {
    let name = folder.to_str()?;
    match mark_of(name).and_then(|_| name.rsplit_once('-')?.0.rsplit_once('.')) {
        Some((own, hex)) if !hex.is_empty() && partition_digits(own) => partition_of(OsStr::new(own)),
        _ => partition_of(folder),
    }
}

/// Whether the name of a marked folder has the greatest length, to which Kafka truncates the topic in it.
pub fn may_be_truncated(folder: &OsStr) -> bool {
    folder.as_encoded_bytes().len() >= MOST_NAME && is_marked(&folder.to_string_lossy())
}

/// The path of a side file of a segment; that of a `.swap` segment is a `.swap` file, too.
pub fn side_file(segment: &Path, suffix: &str) -> PathBuf {
    if segment.extension() == Some(OsStr::new("swap")) {
        let mut path = side_file(&segment.with_extension(""), suffix).into_os_string();
        path.push(SWAP);
        return PathBuf::from(path);
    }
    segment.with_extension(suffix)
}

/// The name of a segment's side file.
pub(super) fn side_file_name(segment: &str, suffix: &str) -> String {
    if let Some(segment) = segment.strip_suffix(SWAP) {
        return side_file_name(segment, suffix) + SWAP;
    }
    let stem = segment.rsplit_once('.').map_or(segment, |(stem, _)| stem);
    format!("{}.{suffix}", if stem.is_empty() { segment } else { stem })
}

/// The greatest offset in the names of producer snapshots.
pub fn last_snapshot<'n>(names: impl IntoIterator<Item = &'n str>) -> Option<i64> {
    let snapshots = names.into_iter().filter(|name| name.ends_with(".snapshot"));
    snapshots.filter_map(|name| segment_offset(&side_file_name(name, "log"))).max()
}

/// The digits in the name of a segment of a broker.
fn plain_segment(name: &str) -> Option<&str> {
    let digits = name.strip_suffix(".log").or_else(|| name.strip_suffix(".kafka"))?;
    (digits.len() == DIGITS && are_digits(digits)).then_some(digits)
}

/// The digits in the name of a segment of tiered storage.
fn tiered_segment(name: &str) -> Option<&str> {
    tiered_file(name).filter(|(_, _, suffix)| *suffix == "log").map(|(digits, ..)| digits)
}

/// The digits, the segment id and the suffix in the name of a file of tiered storage.
pub(super) fn tiered_file(name: &str) -> Option<(&str, &str, &str)> {
    let (stem, suffix) = name.split_once('.')?;
    let (digits, id) = stem.split_at_checked(DIGITS)?;
    let id = id.strip_prefix('-')?;
    (are_digits(digits) && is_id(id)).then_some((digits, id, suffix))
}

/// What is before a topic id at the end of a name, and the id.
fn with_topic_id(name: &str) -> Option<(&str, &str)> {
    let (topic, id) = name.split_at_checked(name.len().checked_sub(ID)?)?;
    let topic = topic.strip_suffix('-').filter(|topic| !topic.is_empty())?;
    is_id(id).then_some((topic, id))
}

fn is_id(text: &str) -> bool {
    text.len() == ID && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn is_partition_number(name: &str) -> bool {
    (1..=PARTITION_DIGITS).contains(&name.len()) && are_digits(name)
}

/// Whether a name ends with a dash and at most as many digits as a partition's number has.
fn partition_digits(name: &str) -> bool {
    name.rsplit_once('-').is_some_and(|(topic, number)| !topic.is_empty() && is_partition_number(number))
}

fn are_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The number that 20 digits are, if it is at most 2^63 - 1.
pub(super) fn offset(digits: &str) -> Option<i64> {
    digits.parse().ok()
}
