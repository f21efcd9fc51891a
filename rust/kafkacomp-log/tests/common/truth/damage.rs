//! Damage to the files of a log. It knows nothing of the rules.

use kafkacomp_log::InMemory;
use kafkacomp_log::map::{BatchFact, Fact, OffsetRange, Survey};

use super::logs::{CAP, File, PAGE, Random, run};

/// The segments of which other partitions are made.
pub type Sources = [(Vec<u8>, Vec<BatchFact>)];

/// What happens to a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Pages of the same file are in the place of pages.
    PageOfSameFile,
    /// Pages of another file of the partition are.
    PageOfOtherFile,
    /// Pages of another partition with offsets of the log are.
    PageNear,
    /// Pages of another partition with offsets below or above the log are.
    PageFar,
    /// Pages of a segment of any format, or of anything else, are.
    PageOfOtherFormat,
    /// Pages are zero.
    Zeroed,
    /// The end of a file is gone.
    Truncated,
    /// A file has the content of another one of the partition.
    Copied,
    /// A file has the content of another partition's file.
    Foreign,
    /// The name of a file is wrong.
    Renamed,
    /// A file is gone.
    Deleted,
    /// A batch is elsewhere in its file for a second time.
    Repeated,
    /// A batch is gone, without a trace.
    Removed,
    /// Two batches of a file have changed places.
    Swapped,
    /// Some batches of a file are elsewhere in it.
    Moved,
    /// A bit of a base offset is altered.
    OffsetBit,
    /// A base offset is altered.
    OffsetGarbage,
    /// The leader epoch of a batch is altered.
    Epoch,
}

impl Kind {
    pub const ALL: [Self; 18] = [
        Self::PageOfSameFile,
        Self::PageOfOtherFile,
        Self::PageNear,
        Self::PageFar,
        Self::PageOfOtherFormat,
        Self::Zeroed,
        Self::Truncated,
        Self::Copied,
        Self::Foreign,
        Self::Renamed,
        Self::Deleted,
        Self::Repeated,
        Self::Removed,
        Self::Swapped,
        Self::Moved,
        Self::OffsetBit,
        Self::OffsetGarbage,
        Self::Epoch,
    ];
}

/// Damages the files, one of which is there.
pub fn damage(random: &mut Random, files: &mut Vec<File>, kind: Kind, sources: &Sources) {
    let number = random.below(files.len());
    let other = random.below(files.len());
    match kind {
        Kind::PageOfSameFile => {
            let source = files[number].bytes.clone();
            overwrite(random, &mut files[number], &source, PAGE);
        }
        Kind::PageOfOtherFile if other != number => {
            let source = files[other].bytes.clone();
            overwrite(random, &mut files[number], &source, PAGE);
        }
        Kind::PageNear | Kind::PageFar => {
            let (low, high) = bounds(files);
            let first = match kind {
                Kind::PageNear => low + random.below((high - low) as usize + 19) as i64 - 9,
                _ if random.below(2) == 0 => low / 2,
                _ => high + 1_000_000,
            };
            let source = content(&run(random, sources, first.max(0), 12 * PAGE));
            // The pages of another file begin within its batches.
            let start = random.below(PAGE);
            overwrite(random, &mut files[number], source.get(start..).unwrap_or_default(), PAGE);
        }
        Kind::PageOfOtherFormat => {
            let mut source = random.choice(sources).0.clone();
            if random.below(2) == 0 {
                source.fill_with(|| random.below(256) as u8);
            }
            overwrite(random, &mut files[number], &source, PAGE);
        }
        Kind::Zeroed => overwrite(random, &mut files[number], &[0; 4 * PAGE], 4 * PAGE),
        Kind::Truncated => {
            let length = random.below(files[number].bytes.len() + 1);
            files[number].is_truncated |= length < files[number].bytes.len();
            files[number].bytes.truncate(length);
        }
        Kind::Copied => files[number].bytes = files[other].bytes.clone(),
        Kind::Foreign => {
            let near = (files[number].name + random.below(60) as i64 - 30).max(0);
            let first = *random.choice(&[near, 1_000_000, 0]);
            let size = 1 + random.below(12 * PAGE);
            files[number].bytes = content(&run(random, sources, first, size));
        }
        Kind::Renamed => {
            let name = random.below(files.last().map_or(0, |last| last.name) as usize + 60) as i64;
            if files.iter().all(|file| file.name != name) {
                files[number].name = name;
                files.sort_by_key(|file| file.name);
            }
        }
        Kind::Deleted if files.len() > 1 => {
            files.remove(number);
        }
        Kind::PageOfOtherFile | Kind::Deleted => {}
        _ => rearrange(random, &mut files[number], kind),
    }
}

/// Damages batches of a file.
fn rearrange(random: &mut Random, file: &mut File, kind: Kind) {
    let mut parts = parts(file);
    let places: Vec<usize> = (0..parts.len()).filter(|&place| parts[place].0).collect();
    if places.is_empty() {
        return;
    }
    let (one, two) = (*random.choice(&places), *random.choice(&places));
    match kind {
        Kind::Repeated => parts.insert(one, parts[two].clone()),
        Kind::Removed => {
            parts.remove(one);
        }
        Kind::Swapped => parts.swap(one, two),
        Kind::Moved => {
            let moved: Vec<_> = parts.drain(one..parts.len().min(one + 1 + random.below(4))).collect();
            let to = random.below(parts.len() + 1);
            parts.splice(to..to, moved);
        }
        Kind::OffsetBit => {
            let bit = *random.choice(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 20, 40]);
            parts[one].1[7 - bit / 8] ^= 1 << (bit % 8);
        }
        Kind::OffsetGarbage => {
            let limit = *random.choice(&[200, 1 << 50]);
            parts[one].1[..8].copy_from_slice(&random.below(limit).to_be_bytes());
        }
        // The messages of formats 0 and 1 have their checksums there.
        Kind::Epoch if parts[one].1[16] == 2 => parts[one].1[13 + random.below(3)] ^= 1 << random.below(8),
        _ => {}
    }
    file.bytes = parts.concat_bytes();
}

/// The parts of a file: batches and what is between them.
fn parts(file: &File) -> Vec<(bool, Vec<u8>)> {
    let survey = Survey::verified(&InMemory(&file.bytes), CAP, &mut |_| Ok(None)).unwrap();
    let part = |fact: &Fact| {
        let bytes = fact.bytes().start() as usize..fact.bytes().end() as usize;
        (fact.batch().is_some(), file.bytes[bytes].to_vec())
    };
    survey.facts().iter().map(part).collect()
}

trait ConcatBytes {
    fn concat_bytes(&self) -> Vec<u8>;
}

impl ConcatBytes for Vec<(bool, Vec<u8>)> {
    fn concat_bytes(&self) -> Vec<u8> {
        self.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect()
    }
}

fn content<T>(batches: &[(T, Vec<u8>)]) -> Vec<u8> {
    batches.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect()
}

/// The first offset of a log and the one after its last.
fn bounds(files: &[File]) -> (i64, i64) {
    let offsets = || files.iter().flat_map(|file| file.truth.values().map(|(offsets, _)| *offsets));
    let start = offsets().map(OffsetRange::start).min().unwrap_or_default();
    (start, offsets().map(OffsetRange::end).max().unwrap_or(start))
}

/// Writes pages of `source`, each of which begins at a multiple of `unit`, over one to four pages of a file.
fn overwrite(random: &mut Random, file: &mut File, source: &[u8], unit: usize) {
    if file.bytes.is_empty() || source.is_empty() {
        return;
    }
    let pages = *random.choice(&[1, 1, 1, 2, 4]);
    let start = PAGE * random.below(file.bytes.len().div_ceil(PAGE));
    let from = unit * random.below(source.len().div_ceil(unit));
    let size = (pages * PAGE).min(file.bytes.len() - start).min(source.len() - from);
    file.bytes[start..start + size].copy_from_slice(&source[from..from + size]);
}
