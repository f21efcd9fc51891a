//! Scans whose segments panic, stall or fail, and scans that are closed while they run.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use arrow_array::RecordBatch;
use kafkacomp_arrow::{
    OnError, Partition, Scan, ScanError, ScanOptions, Segment, Step, TransactionsIn,
    lookup::split_boundaries::SplitBoundaries,
};
use kafkacomp_log::{OpenSegment, ReadAt, SideFile, SourceTraits};

mod common;
use common::batch;

/// How a source fails.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    PanicInOpen,
    PanicInRead(usize),
    /// The bytes are in memory, and accessing them panics: in a worker, not in the planner.
    PanicInSlice(usize),
    /// This read blocks until [`GATE`] is unlocked.
    Stall(usize),
    OneByteAtATime,
}

static GATE: Mutex<()> = Mutex::new(());

#[derive(Debug)]
struct Files {
    data: Arc<Vec<u8>>,
    fault: Fault,
    is_local: bool,
}

struct Source {
    data: Arc<Vec<u8>>,
    fault: Fault,
    calls: AtomicUsize,
}

impl OpenSegment for Files {
    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        assert!(self.fault != Fault::PanicInOpen, "injected");
        Ok(Arc::new(Source { data: Arc::clone(&self.data), fault: self.fault, calls: AtomicUsize::new(0) }))
    }

    fn side_file(&self, _: SideFile) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn is_local(&self) -> bool {
        self.is_local
    }
}

impl ReadAt for Source {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        match self.fault {
            Fault::PanicInRead(at) => assert!(call < at, "injected"),
            Fault::Stall(at) if call == at => drop(GATE.lock().unwrap()),
            _ => {}
        }
        let rest = self.data.get(position as usize..).unwrap_or_default();
        let most = if self.fault == Fault::OneByteAtATime { 1 } else { buffer.len() };
        let count = rest.len().min(most);
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn traits(&self) -> SourceTraits<'_> {
        let Fault::PanicInSlice(at) = self.fault else { return SourceTraits::default() };
        assert!(self.calls.fetch_add(1, Ordering::Relaxed) < at, "injected");
        SourceTraits { bytes: Some(&self.data), ..SourceTraits::default() }
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.data.len() as u64)
    }
}

fn data(batches: usize) -> Arc<Vec<u8>> {
    let value = vec![b'v'; 10_000];
    let values: Vec<&[u8]> = vec![&value; 10];
    Arc::new((0..batches).flat_map(|index| batch((index * 10) as i64, &values, 0, -1)).collect())
}

/// A segment that the consumer may read itself, too, unless its reads stall.
fn segment(name: &str, base_offset: i64, data: &Arc<Vec<u8>>, fault: Fault) -> Segment {
    files(name, base_offset, data, fault, !matches!(fault, Fault::Stall(_)))
}

fn files(name: &str, base_offset: i64, data: &Arc<Vec<u8>>, fault: Fault, is_local: bool) -> Segment {
    Segment {
        name: Arc::from(name),
        base_offset: Some(base_offset),
        size: data.len() as u64,
        files: Arc::new(Files { data: Arc::clone(data), fault, is_local }),
        range: None,
        boundaries: SplitBoundaries::default(),
        active: false,
        offsets: None,
        transactions_in: TransactionsIn::default(),
    }
}

fn scan(segments: Vec<Segment>, threads: usize, on_error: OnError) -> Scan {
    let options = ScanOptions { threads, on_error, ..ScanOptions::default() };
    Scan::new(vec![Partition { segments, ..Partition::default() }], options, 50_000_000)
}

#[test]
fn a_panic_anywhere_is_an_error_that_names_the_segment() {
    let data = data(200);
    let faults = [Fault::PanicInOpen, Fault::PanicInRead(0), Fault::PanicInRead(2), Fault::PanicInRead(9)];
    for fault in faults.into_iter().chain((0..60).map(Fault::PanicInSlice)) {
        for (threads, is_local) in [(1, true), (1, false), (2, true), (2, false), (4, true), (4, false)] {
            for on_error in [OnError::Raise, OnError::Skip] {
                let segments = vec![files("the-segment", 0, &data, fault, is_local)];
                let found: Vec<_> = scan(segments, threads, on_error).collect();
                let rows: usize = found.iter().flatten().map(RecordBatch::num_rows).sum();
                let name = format!("{fault:?}, {threads} threads, local: {is_local}, {on_error:?}: {rows} rows");
                match found.last() {
                    Some(Err(ScanError::Panicked { segment, message })) => {
                        assert_eq!((&**segment, message.as_str()), ("the-segment", "injected"), "{name}");
                    }
                    // The bytes were accessed fewer times.
                    Some(Ok(_)) => assert_eq!(rows, 2000, "{name}"),
                    other => panic!("{name}: {other:?}"),
                }
            }
        }
    }
}

#[test]
fn a_panic_names_the_segment_that_was_being_read() {
    let data = data(50);
    for fault in [Fault::PanicInOpen, Fault::PanicInRead(1), Fault::PanicInSlice(3)] {
        for threads in [1, 3] {
            let segments =
                vec![segment("first", 0, &data, Fault::OneByteAtATime), segment("second", 500, &data, fault)];
            let Some(Err(error)) = scan(segments, threads, OnError::Raise).last() else {
                panic!("{fault:?}: no error")
            };
            assert_eq!(error.message(), "second: internal error: injected", "{fault:?}, {threads} threads");
        }
    }
}

#[test]
fn short_reads_are_continued() {
    let data = data(20);
    for threads in [1, 2] {
        let segments = vec![segment("s", 0, &data, Fault::OneByteAtATime)];
        let rows: usize = scan(segments, threads, OnError::Raise).map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(rows, 200);
    }
}

/// Unlike a record set in memory, see `a_record_set_in_memory_may_end_within_a_batch`.
#[test]
fn a_file_that_ends_within_a_batch_is_an_error() {
    let mut data = data(2).to_vec();
    data.pop();
    let data = Arc::new(data);
    for threads in [1, 2] {
        let segments = vec![segment("s", 0, &data, Fault::OneByteAtATime)];
        let found: Vec<_> = scan(segments, threads, OnError::Raise).collect();
        let rows: usize = found.iter().flatten().map(RecordBatch::num_rows).sum();
        assert!(matches!(found.last(), Some(Err(ScanError::Record { .. }))), "{:?}", found.last());
        assert_eq!(rows, 10, "{threads} threads");
    }
}

/// A read that does not return blocks neither the consumer nor the thread that closes the scan.
#[test]
fn closing_stops_whoever_waits() {
    let data = data(200);
    for threads in [1, 2] {
        let gate = GATE.lock().unwrap();
        let mut scan = scan(vec![segment("s", 0, &data, Fault::Stall(3))], threads, OnError::Raise);
        let closer = scan.closer();
        let reading = thread::spawn(move || {
            loop {
                match scan.poll(Duration::from_millis(10)) {
                    Step::Failed(error) => return error,
                    Step::End => panic!("the end"),
                    _ => {}
                }
            }
        });
        thread::sleep(Duration::from_millis(50));
        closer.close();
        let error = reading.join().unwrap();
        assert!(matches!(error, ScanError::Closed), "{error:?}");
        drop(gate);
    }
    let gate = GATE.lock().unwrap();
    let mut scan = scan(vec![segment("s", 0, &data, Fault::Stall(0))], 2, OnError::Raise);
    assert!(matches!(scan.poll(Duration::from_millis(20)), Step::Waiting));
    scan.close();
    assert!(matches!(scan.poll(Duration::from_millis(20)), Step::End));
    drop(scan);
    drop(gate);
}
