use super::*;
use crate::continuity::compaction::Compaction;
use crate::map::ReachedOffsets;
use crate::read::segment_files::{MemorySegment, SideFile};
use crate::read::source::ReadAt;
use std::convert::Infallible;
use std::io;
use std::ops::ControlFlow;

/// A batch of magic 2 with one record, null key and the value `v`.
fn batch(offset: i64, timestamp: i64) -> Vec<u8> {
    let record = [14, 0, 0, 0, 1, 2, b'v', 0];
    let mut body = Vec::new();
    body.extend_from_slice(&0_i16.to_be_bytes());
    body.extend_from_slice(&0_i32.to_be_bytes());
    body.extend_from_slice(&timestamp.to_be_bytes());
    body.extend_from_slice(&timestamp.to_be_bytes());
    body.extend_from_slice(&[0xff; 14]);
    body.extend_from_slice(&1_i32.to_be_bytes());
    body.extend_from_slice(&record);
    let mut batch = offset.to_be_bytes().to_vec();
    batch.extend_from_slice(&(body.len() as i32 + 9).to_be_bytes());
    batch.extend_from_slice(&0_i32.to_be_bytes());
    batch.push(2);
    batch.extend_from_slice(&kafkacomp_records::checksum::crc32c(&body).to_be_bytes());
    batch.extend_from_slice(&body);
    batch
}

/// A segment with its indexes.
#[derive(Debug, Clone, Default)]
struct Segment {
    log: Vec<u8>,
    offset_index: Option<Vec<u8>>,
    time_index: Option<Vec<u8>>,
    transaction_index: Option<Vec<u8>>,
}

impl OpenSegment for Segment {
    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        MemorySegment(Arc::new(self.log.clone())).open()
    }

    fn side_file(&self, kind: SideFile) -> io::Result<Option<Vec<u8>>> {
        Ok(match kind {
            SideFile::OffsetIndex => self.offset_index.clone(),
            SideFile::TimeIndex => self.time_index.clone(),
            SideFile::TransactionIndex => self.transaction_index.clone(),
            SideFile::ProducerSnapshot | SideFile::LeaderEpochCheckpoint => None,
        })
    }
}

/// Verifies files with these base offsets.
fn verified(segments: Vec<(Option<i64>, Segment)>, bounds: &[i64]) -> VerifiedPartition {
    let files: Vec<FileToVerify> = segments
        .into_iter()
        .map(|(base_offset, segment)| FileToVerify {
            name: Arc::from(format!("{}.log", base_offset.unwrap_or_default())),
            base_offset,
            files: Arc::new(segment),
            log_format: Some(LogFormat::Records),
            may_be_truncated: false,
            valid: None,
        })
        .collect();
    let options = VerifyOptions {
        bounds,
        compaction: Compaction::Unknown,
        leader_epochs: &[],
        reached: ReachedOffsets::default(),
        log_start_offset: i64::MIN,
        max_output_size: 1 << 20,
        threads: 2,
    };
    let found = verify_partition::<Infallible>(&files, &options, &mut |_| ControlFlow::Continue(()));
    found.unwrap().continue_value().unwrap()
}

fn report(base_offset: Option<i64>, segment: Segment) -> SegmentReport {
    verified(vec![(base_offset, segment)], &[]).reports.remove(0)
}

fn run(log: &[u8]) -> SegmentReport {
    report(Some(0), Segment { log: log.to_vec(), ..Segment::default() })
}

fn messages(report: &SegmentReport) -> Vec<(FindingFile, u64, &str)> {
    report.findings.iter().map(|f| (f.file, f.position, f.message.as_str())).collect()
}

fn three() -> (Vec<u8>, u64) {
    let one = batch(0, 100);
    let size = one.len() as u64;
    ([one, batch(1, 300), batch(2, 200)].concat(), size)
}

fn index(entries: &[(i32, u64)]) -> Vec<u8> {
    entries.iter().flat_map(|(o, p)| [o.to_be_bytes(), (*p as i32).to_be_bytes()].concat()).collect()
}

fn times(entries: &[(i64, i32)]) -> Vec<u8> {
    entries.iter().flat_map(|(t, o)| [&t.to_be_bytes()[..], &o.to_be_bytes()].concat()).collect()
}

#[test]
fn a_sound_segment() {
    let (log, size) = three();
    let (offsets, timestamps) = (index(&[(1, size), (2, 2 * size)]), times(&[(100, 0), (300, 1)]));
    let segment = |log: Vec<u8>| Segment {
        log,
        offset_index: Some(offsets.clone()),
        time_index: Some(timestamps.clone()),
        transaction_index: Some(Vec::new()),
    };
    let run = |log: &[u8]| report(Some(0), segment(log.to_vec()));
    let report = run(&log);
    assert_eq!(messages(&report), []);
    assert_eq!((report.first_offset, report.last_offset, report.length), (Some(0), Some(2), 3 * size));
    let counts = report.by_compression_type[0];
    assert_eq!((counts.batches, counts.records, counts.stored_bytes), (3, 3, 3 * size));
    let zeros = [log.as_slice(), &[0; 100]].concat();
    assert_eq!((run(&zeros).zero_tail_bytes, run(&zeros).errors), (100, 0));
}

#[test]
fn indexes_that_lead_astray() {
    let (log, size) = three();
    let with_offsets = |entries: &[(i32, u64)]| {
        report(Some(0), Segment { log: log.clone(), offset_index: Some(index(entries)), ..Segment::default() })
    };
    for (entries, byte, message) in [
        (&[(1, size + 1)][..], 0, "no batch begins at position"),
        (&[(0, size)], 0, "begins at offset 1"),
        (&[(1, size), (2, 9 * size)], 8, "no batch begins at position"),
    ] {
        let report = with_offsets(entries);
        let [(FindingFile::OffsetIndex, at, found)] = messages(&report)[..] else { panic!("{report:?}") };
        assert!(at == byte && found.contains(message), "{found}");
    }
    for (entries, byte, message) in [
        (&[(101, 0)][..], 0, "is 100"),
        (&[(200, 2)], 0, "a batch before it has timestamp 300"),
        (&[(100, 0), (300, 7)], 12, "last offset is 2"),
    ] {
        let report =
            report(Some(0), Segment { log: log.clone(), time_index: Some(times(entries)), ..Segment::default() });
        let [(FindingFile::TimeIndex, at, found)] = messages(&report)[..] else { panic!("{report:?}") };
        assert!(at == byte && found.contains(message), "{found}");
    }
    let aborted = [&0_i16.to_be_bytes()[..], &[7_i64, 0, 1, 2].map(i64::to_be_bytes).concat()].concat();
    let report = report(Some(0), Segment { log, transaction_index: Some(aborted), ..Segment::default() });
    assert!(messages(&report)[0].2.contains("not a marker of producer 7"), "{report:?}");
}

#[test]
fn corruption_is_reported_and_skipped() {
    let (log, size) = three();
    for bit in 0..log.len() * 8 {
        let mut flipped = log.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let report = run(&flipped);
        // The checksum does not cover the base offset and the leader epoch.
        let unchecked = matches!(bit / 8 % size as usize, 0..8 | 12..16);
        assert!(report.errors > 0 || unchecked, "{bit}: {report:?}");
        assert!(report.by_compression_type[0].batches >= 2, "{bit}: {report:?}");
    }
    for cut in 0..log.len() {
        let report = run(&log[..cut]);
        // Zero bytes alone are a preallocated tail, unless they are too few for offset and size.
        let rest = &log[cut - cut % size as usize..cut];
        assert_eq!(
            report.errors > 0,
            (1..12).contains(&rest.len()) || rest.iter().any(|&byte| byte != 0),
            "{cut}: {report:?}"
        );
        assert_eq!(report.by_compression_type[0].batches, cut as u64 / size);
    }
}

#[test]
fn offsets_that_fall_back() {
    let log = [batch(5, 1), batch(4, 1)].concat();
    let report = run(&log);
    // Of two batches that contradict one another, the one with the lower offsets is in place.
    assert!(messages(&report)[0].2.contains("is not where its offsets 5 to 5 belong"), "{report:?}");
    let missing: Vec<_> = report.missing.iter().map(|range| (range.first_offset, range.last_offset)).collect();
    assert_eq!(missing, [(0, 3)]);
    assert_eq!(super::tests::report(None, Segment { log, ..Segment::default() }).errors, 0);
}

#[test]
fn warnings_do_not_hide_an_error() {
    let mut report = SegmentReport::new(0);
    (0..20_000).for_each(|at| report.add(FindingFile::Log, at, false, String::new()));
    report.add_error(20_000, "wrong".to_owned(), None);
    report.add_error(20_001, "wrong".to_owned(), None);
    assert!(report.findings.iter().any(|finding| finding.is_error));
    assert_eq!(report.findings.len() as u64 + report.more_findings, 20_002);
    assert_eq!((report.errors, report.warnings), (2, 20_000));
}

#[test]
fn noise_is_bounded() {
    let noise: Vec<u8> = (0..50_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let report = run(&noise);
    assert_eq!((report.errors, report.unreadable_bytes), (1, 50_000));
}
