//! Shared by the tests: the records of segments, and the JSON lines that Kafka made of them.
#![allow(dead_code, clippy::panic, clippy::unwrap_used, reason = "each test binary uses a part")]

pub mod random;

use flate2::read::GzDecoder;
use kafkacomp_schemas::Topic;
use kafkacomp_schemas::json::{Origin, Producer};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A record with what its batch says of it.
#[derive(Debug)]
pub struct Record {
    /// Where it was.
    pub origin: Origin,
    /// Whether it is a control record.
    pub is_control: bool,
    /// Its key.
    pub key: Option<Vec<u8>>,
    /// Its value.
    pub value: Option<Vec<u8>>,
}

/// The folder of all vectors: the one that `KAFKACOMP_VECTORS` names, the full sets next to the repository if they exist, otherwise the part in the repository.
pub fn vectors() -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    if let Some(folder) = std::env::var_os("KAFKACOMP_VECTORS") {
        return folder.into();
    }
    let bases = ["../shared/vectors", "tests/vectors"];
    bases.map(|base| root.join(base)).into_iter().find(|path| path.join("internal").is_dir()).unwrap()
}

/// The files below a folder whose names end so, sorted.
pub fn files(folder: &Path, suffix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, suffix));
        } else if path.to_str().unwrap().ends_with(suffix) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The lines of a compressed file.
pub fn lines(path: &Path) -> Vec<String> {
    let mut text = String::new();
    GzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// A file of expectations, and the segment that it is about.
pub fn pairs() -> Vec<(PathBuf, PathBuf)> {
    let root = vectors();
    let internal = root.join("internal");
    let segment = |expected: &Path| {
        let name = expected.strip_prefix(&internal).unwrap().to_str().unwrap().trim_end_matches(".jsonl.gz");
        match name.strip_prefix("remote-log-metadata/") {
            Some(name) => root.join("tiered").join(name),
            None => internal.join(name.replacen("/expect/", "/data/", 1)),
        }
    };
    let found: Vec<_> = files(&internal, ".jsonl.gz").into_iter().map(|path| (segment(&path), path)).collect();
    assert!(!found.is_empty());
    found
}

/// The states of brokers: folders with `state.json`.
pub fn states() -> Vec<PathBuf> {
    let found = files(&vectors().join("internal"), "state.json");
    assert!(!found.is_empty());
    found.iter().map(|path| path.parent().unwrap().to_owned()).collect()
}

/// The folders of a topic's partitions in the log directory of such a broker.
pub fn folders(state: &Path, topic: Topic) -> Vec<PathBuf> {
    let is_of_topic = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.rsplit_once('-').is_some_and(|(name, _)| name == topic.name())
    };
    fs::read_dir(state.join("data")).unwrap().map(|entry| entry.unwrap().path()).filter(is_of_topic).collect()
}

/// The topic of a segment: the name of its folder without the partition. A `bootstrap.checkpoint` is in none.
pub fn topic(segment: &Path) -> String {
    let folder = segment.parent().unwrap().file_name().unwrap().to_str().unwrap();
    folder
        .rsplit_once('-')
        .filter(|_| folder.starts_with("__"))
        .map_or("__cluster_metadata", |(topic, _)| topic)
        .to_owned()
}

/// The records of a segment; its batches are not compressed, or with gzip.
pub fn records(segment: &Path) -> Vec<Record> {
    let bytes = fs::read(segment).unwrap();
    let mut found = Vec::new();
    let mut left = Bytes(&bytes);
    while left.0.len() >= 17 {
        let offset = left.int(8);
        let length = left.int(4);
        let mut batch = Bytes(left.take(length as usize));
        match batch.0[4] {
            2 => modern(offset, &mut batch, &mut found),
            magic => found.push(legacy(offset, magic, &mut batch)),
        }
    }
    found
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, left) = self.0.split_at(length);
        self.0 = left;
        taken
    }

    fn int(&mut self, width: usize) -> i64 {
        let bytes = self.take(width);
        let sign = if bytes[0] & 0x80 == 0 { 0 } else { -1 };
        bytes.iter().fold(sign, |number, byte| number << 8 | i64::from(*byte))
    }

    fn varint(&mut self) -> i64 {
        let mut number = 0_u64;
        for shift in (0..).step_by(7) {
            let byte = self.take(1)[0];
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        (number >> 1) as i64 ^ -((number & 1) as i64)
    }

    fn nullable(&mut self, length: i64) -> Option<Vec<u8>> {
        (length >= 0).then(|| self.take(length as usize).to_vec())
    }
}

fn modern(base: i64, batch: &mut Bytes<'_>, found: &mut Vec<Record>) {
    batch.take(4 + 1 + 4);
    let attributes = batch.int(2);
    batch.take(4);
    let (first, last) = (batch.int(8), batch.int(8));
    let (id, epoch) = (batch.int(8), batch.int(2) as i16);
    batch.take(4);
    let count = batch.int(4);
    let mut content = Vec::new();
    match attributes & 7 {
        0 => content.extend_from_slice(batch.0),
        1 => drop(GzDecoder::new(batch.0).read_to_end(&mut content).unwrap()),
        codec => panic!("a batch of codec {codec}"),
    }
    let mut content = Bytes(&content);
    for _ in 0..count {
        let length = content.varint();
        let mut record = Bytes(content.take(length as usize));
        record.take(1);
        let (time, offset) = (record.varint(), record.varint());
        let length = record.varint();
        let key = record.nullable(length);
        let length = record.varint();
        let value = record.nullable(length);
        let timestamp = if attributes & 8 == 0 { first + time } else { last };
        let producer = Some(Producer { id, epoch, is_transactional: attributes & 16 != 0 });
        let origin = Origin { offset: base + offset, timestamp, producer };
        found.push(Record { origin, is_control: attributes & 32 != 0, key, value });
    }
}

fn legacy(offset: i64, magic: u8, message: &mut Bytes<'_>) -> Record {
    message.take(4 + 1);
    assert_eq!(message.int(1) & 7, 0, "a compressed message");
    let timestamp = if magic == 0 { -1 } else { message.int(8) };
    let length = message.int(4);
    let key = message.nullable(length);
    let length = message.int(4);
    let value = message.nullable(length);
    Record { origin: Origin { offset, timestamp, producer: None }, is_control: false, key, value }
}
