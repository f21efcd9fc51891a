//! Scans of segments compared with their lower bounds, alternately on the same bytes. `limit` verifies the checksum of each
//! batch and decompresses it with the codec's library into the same memory; `limit_copy` also copies the decompressed bytes;
//! `limit_kept` decompresses into as much memory as a scan whose consumer has some batches. `views` and `binary` are scans of
//! all default columns with one or two threads, `processes` two processes that scan with one thread each at the same time, each its own
//! copy of the data, and `one_file` two that scan the same file. Each scan has a process of its own, and a new one in each round: two
//! processes of the same scan differ by up to a fifth for as long as they live, probably because of where their memory lies.
//! Prints a line of JSON for each segment: ns a record, by the median of all rounds and by the fastest pass, and the medians of
//! the ratios of all rounds. On a machine with other load, only the fastest passes are meaningful.
//!
//! `cargo bench -p kafkacomp-arrow --bench limits -- ROUNDS REPEAT SEGMENT...`; the batches of a segment are repeated `REPEAT` times,
//! as one log, in two files beside it that are deleted afterwards.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, clippy::cast_precision_loss, reason = "a benchmark")]

use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kafkacomp_arrow::source::files::in_memory;
use kafkacomp_arrow::{BinaryType, Partition, Scan, ScanOptions, Segment};
use kafkacomp_log::LocalSegment;
use kafkacomp_records::CompressionType;
use kafkacomp_records::record::Batches;

/// How long each side works at least before the next one, after a pass that does not count, and how often in a round.
const TURN: Duration = Duration::from_millis(70);
const TURNS: usize = 2;
/// More bytes than any batch of the segments contains.
const ROOM: usize = 4 << 20;
/// The positions in a batch from which on the checksum covers it, and of its records.
const ATTRIBUTES: usize = 21;
const RECORDS: usize = 61;
/// The bytes of content in an Arrow batch of a scan with views.
const HANDED_OUT: usize = 1 << 20;
/// The number of such buffers that a scan uses in turn: one is being filled, one is in the queue, and the consumer has one.
const PARTS: usize = 3;
/// The first argument of a process that makes a pass of a side for each line of its standard input and reports its seconds:
/// `--scanner SIDE RECORDS LOG`; `RECORDS`, which a scan must return, is 0 for a limit.
const SCANNER: &str = "--scanner";
/// The end of the kinds that read the file.
const FILE: &str = "_file";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.as_slice() {
        [first, side, records, log] if first == SCANNER => pass_when_asked(side, records.parse().unwrap(), log),
        [rounds, repeat, paths @ ..] => {
            for path in paths {
                println!("{}", compare(rounds.parse().unwrap(), repeat.parse().unwrap(), path));
            }
        }
        _ => println!("usage: ROUNDS REPEAT SEGMENT..."),
    }
}

/// The batches of a segment, so many times in a row, with the offsets of one log.
fn repeated(segment: &[u8], times: i64) -> Vec<u8> {
    let ends = Batches::new(segment, 0).map(|batch| batch.unwrap().last_offset() + 1);
    let offsets = ends.max().unwrap_or_default();
    let mut log = Vec::new();
    for each in 0..times {
        for batch in Batches::new(segment, 0) {
            let batch = batch.unwrap();
            let at = log.len();
            log.extend_from_slice(batch.data());
            // The checksum does not cover the offset.
            let base_offset = batch.base_offset().unwrap() + each * offsets;
            log[at..at + size_of::<i64>()].copy_from_slice(&base_offset.to_be_bytes());
        }
    }
    log
}

/// What is scanned: one segment.
#[derive(Debug, Clone)]
enum Source {
    Memory(Arc<Vec<u8>>),
    File(PathBuf),
}

impl Source {
    fn partitions(&self) -> Vec<Partition> {
        let segment = match self {
            Self::Memory(data) => in_memory(Arc::clone(data), "bench"),
            Self::File(path) => {
                let segment = in_memory(Arc::new([]), "bench");
                Segment { files: Arc::new(LocalSegment(path.clone())), ..segment }
            }
        };
        let (topic, partition) = (Some(Arc::from("flights")), Some(0));
        vec![Partition { topic, partition, segments: vec![segment], ..Partition::default() }]
    }

    fn size(&self) -> u64 {
        match self {
            Self::Memory(data) => data.len() as u64,
            Self::File(path) => path.metadata().unwrap().len(),
        }
    }
}

fn scan(source: &Source, binary_type: BinaryType, threads: usize) -> usize {
    let options = ScanOptions { threads, binary_type, ..ScanOptions::default() };
    Scan::new(source.partitions(), options, source.size()).map(|batch| batch.unwrap().num_rows()).sum()
}

/// The scans that are made by two threads and by two processes.
const KINDS: [&str; 4] = ["views", "binary", "views_file", "binary_file"];

/// What is done besides verifying and decompressing.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Besides {
    Nothing,
    /// The content is copied.
    Copy,
    /// The content is kept as long as in a scan.
    Keep,
}

/// The limits, and the kinds of scans that they bound.
const LIMITS: [(&str, Besides, &str); 3] = [
    ("limit", Besides::Nothing, "views"),
    ("limit_kept", Besides::Keep, "views"),
    ("limit_copy", Besides::Copy, "binary"),
];

/// Verifies and decompresses every batch; returns the number of bytes of content.
fn limit(data: &[u8], codec: &mut Codec, besides: Besides) -> usize {
    let (mut bytes, mut copy) = (0, vec![0; if besides == Besides::Copy { ROOM } else { 0 }]);
    for batch in Batches::new(data, 0) {
        let batch = batch.unwrap();
        let (stored, data) = (batch.crc(), batch.data());
        assert_eq!(crc_fast::crc32_iscsi(&data[ATTRIBUTES..]), stored);
        let plain = codec.decompress(&data[RECORDS..], besides == Besides::Keep);
        if besides == Besides::Copy {
            let at = bytes % (ROOM / 4);
            copy[at..at + plain.len()].copy_from_slice(plain);
            black_box(&copy);
        }
        bytes += plain.len();
    }
    bytes
}

/// The decoder of the library for the codec of a segment.
struct Codec {
    kind: CompressionType,
    room: Vec<u8>,
    /// The part of `room` that is being filled, and the number of its bytes that are.
    part: usize,
    filled: usize,
    zstd: zstd::zstd_safe::DCtx<'static>,
    deflate: libdeflater::Decompressor,
}

impl Codec {
    fn of(data: &[u8]) -> Self {
        let kind = Batches::new(data, 0).next().unwrap().unwrap().compression_type().unwrap();
        let (zstd, deflate) = (zstd::zstd_safe::DCtx::create(), libdeflater::Decompressor::new());
        Self { kind, room: vec![0; PARTS * ROOM], part: 0, filled: 0, zstd, deflate }
    }

    fn decompress<'a>(&'a mut self, data: &'a [u8], keeps: bool) -> &'a [u8] {
        if self.filled >= HANDED_OUT {
            (self.part, self.filled) = ((self.part + 1) % PARTS, 0);
        }
        let room = &mut self.room[self.part * ROOM + self.filled..][..ROOM - self.filled];
        let size = match self.kind {
            CompressionType::None => return black_box(data),
            CompressionType::Lz4 => lz4(data, room),
            CompressionType::Snappy => snappy(data, room),
            CompressionType::Gzip => self.deflate.gzip_decompress(data, room).unwrap(),
            CompressionType::Zstd => self.zstd.decompress(&mut room[..], data).unwrap(),
        };
        if keeps {
            self.filled += size;
        }
        &room[..size]
    }
}

/// A frame without block checksums, as Kafka's producer writes it.
fn lz4(frame: &[u8], room: &mut [u8]) -> usize {
    let (mut at, mut size) = (if frame[4] & 0x08 == 0 { 7 } else { 15 }, 0);
    loop {
        let length = u32::from_le_bytes(frame[at..at + 4].try_into().unwrap());
        if length == 0 {
            return size;
        }
        let block = &frame[at + 4..at + 4 + (length & 0x7fff_ffff) as usize];
        at += 4 + block.len();
        size += if length >> 31 == 0 {
            lzzzz::lz4::decompress(block, &mut room[size..]).unwrap()
        } else {
            room[size..size + block.len()].copy_from_slice(block);
            block.len()
        };
    }
}

fn snappy(stream: &[u8], room: &mut [u8]) -> usize {
    let (mut at, mut size) = (16, 0);
    while at < stream.len() {
        let length = u32::from_be_bytes(stream[at..at + 4].try_into().unwrap()) as usize;
        let block = &stream[at + 4..at + 4 + length];
        at += 4 + length;
        size += snap::raw::Decoder::new().decompress(block, &mut room[size..]).unwrap();
    }
    size
}

/// A file beside a segment, which is deleted with this.
struct Beside(PathBuf);

impl Beside {
    fn new(segment: &str, extension: &str, content: &[u8]) -> Self {
        let file = Self(PathBuf::from(segment).with_extension(extension));
        std::fs::write(&file.0, content).unwrap();
        file
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

/// A process that scans on request.
struct Scanner {
    process: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Scanner {
    fn start(side: &str, records: usize, log: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args([SCANNER, side, &records.to_string(), log])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (ask, answers) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        let mut scanner = Self { process, ask, answers };
        scanner.wait();
        scanner
    }

    fn begin(&mut self) {
        writeln!(self.ask).unwrap();
    }

    fn wait(&mut self) {
        assert!(self.answers.read_line(&mut String::new()).unwrap() > 0);
    }
}

impl Drop for Scanner {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// A pass over the data, which contains this many records, by the name of a side with one process.
fn pass<'d>(side: &str, data: &'d Arc<Vec<u8>>, file: &Source, records: usize) -> Pass<'d> {
    if let Some((_, besides, _)) = LIMITS.into_iter().find(|(name, ..)| *name == side) {
        let mut codec = Codec::of(data);
        return Box::new(move || assert!(limit(data, &mut codec, besides) > 0));
    }
    let (kind, threads) = side.rsplit_once('_').unwrap();
    let binary_type = if kind.starts_with("views") { BinaryType::BinaryView } else { BinaryType::Binary };
    let threads = threads.parse().unwrap();
    let source = if kind.ends_with(FILE) { file.clone() } else { Source::Memory(Arc::clone(data)) };
    Box::new(move || assert_eq!(scan(&source, binary_type, threads), records))
}

/// Makes a pass of the side for each line of the standard input, and writes its seconds.
fn pass_when_asked(side: &str, records: usize, log: &str) {
    let file = Source::File(log.into());
    let data = Arc::new(if side.contains(FILE) { Vec::new() } else { std::fs::read(log).unwrap() });
    let mut pass = pass(side, &data, &file, records);
    pass();
    println!("ready");
    for _ in std::io::stdin().lines().map_while(Result::ok) {
        let start = Instant::now();
        pass();
        println!(r#"{{"seconds": {:.9}}}"#, start.elapsed().as_secs_f64());
    }
}

/// A pass over the data.
type Pass<'s> = Box<dyn FnMut() + 's>;

/// A side, and the seconds of its passes by round.
struct Side<'s> {
    name: String,
    /// Prepares the passes of a round.
    start: Box<dyn Fn() -> Pass<'s> + 's>,
    rounds: Vec<f64>,
    /// The seconds of the fastest pass.
    fastest: f64,
}

impl<'s> Side<'s> {
    fn new(name: &str, start: impl Fn() -> Pass<'s> + 's) -> Self {
        Self { name: name.to_owned(), start: Box::new(start), rounds: Vec::new(), fastest: f64::MAX }
    }
}

/// A round of sides that are compared with each other. Their turns are short, because the speed of a machine with other load changes
/// within a second.
fn take_turns(sides: &mut [Side<'_>]) {
    let mut starts: Vec<_> = sides.iter().map(|side| ((side.start)(), 0.0, 0)).collect();
    for _ in 0..TURNS {
        for (side, (pass, seconds, passes)) in sides.iter_mut().zip(&mut starts) {
            // While the others had their turns, its memory may have left the caches.
            pass();
            let start = Instant::now();
            while start.elapsed() < TURN {
                let begin = Instant::now();
                pass();
                side.fastest = side.fastest.min(begin.elapsed().as_secs_f64());
                *passes += 1;
            }
            *seconds += start.elapsed().as_secs_f64();
        }
    }
    for (side, (_, seconds, passes)) in sides.iter_mut().zip(starts) {
        side.rounds.push(seconds / f64::from(passes));
    }
}

fn compare(rounds: usize, repeat: i64, path: &str) -> String {
    let data = Arc::new(repeated(&std::fs::read(path).unwrap(), repeat));
    let [log, copy] = ["long", "copy"].map(|extension| Beside::new(path, extension, &data));
    let (log, copy) = (log.path(), copy.path());
    let (data, file) = (&data, &Source::File(log.into()));
    let records = scan(file, BinaryType::Binary, 1);
    let mut kinds: Vec<Vec<Side<'_>>> = Vec::new();
    for kind in KINDS {
        let (one, two) = (format!("{kind}_1"), format!("{kind}_2"));
        let (processes, one_file) = (format!("{kind}_processes"), format!("{kind}_one_file"));
        let limits = LIMITS.iter().filter(|(_, _, of)| *of == kind);
        let mut sides: Vec<_> =
            limits.map(|(name, ..)| Side::new(name, move || pass(name, data, file, records))).collect();
        let mut scans = vec![
            (&one, vec![(one.clone(), log)]),
            (&two, vec![(two.clone(), log)]),
            (&processes, vec![(one.clone(), log), (one.clone(), copy)]),
        ];
        if kind.ends_with(FILE) {
            scans.push((&one_file, vec![(one.clone(), log), (one.clone(), log)]));
        }
        for (name, scans) in scans {
            let start = move |(scan, log): &(String, &str)| Scanner::start(scan, records, log);
            sides.push(Side::new(name, move || {
                let mut scanners: Vec<_> = scans.iter().map(start).collect();
                Box::new(move || {
                    scanners.iter_mut().for_each(Scanner::begin);
                    scanners.iter_mut().for_each(Scanner::wait);
                })
            }));
        }
        kinds.push(sides);
    }
    for _ in 0..rounds {
        for sides in &mut kinds {
            take_turns(sides);
        }
    }
    let sides: Vec<_> = kinds.into_iter().flatten().collect();
    describe(path, data, records, &sides)
}

fn describe(path: &str, data: &[u8], records: usize, sides: &[Side<'_>]) -> String {
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    let of = |name: &str| &sides.iter().find(|side| side.name == name).unwrap().rounds;
    let ratio =
        |one: &str, other: &str| median(of(one).iter().zip(of(other)).map(|(one, other)| one / other).collect());
    let nanoseconds = |seconds: &dyn Fn(&Side<'_>) -> f64| {
        let all = sides.iter().map(|side| format!(r#""{}": {:.1}"#, side.name, seconds(side) * 1e9 / records as f64));
        all.collect::<Vec<_>>().join(", ")
    };
    let (times, fastest) = (nanoseconds(&|side| median(side.rounds.clone())), nanoseconds(&|side| side.fastest));
    let mut ratios = vec![
        format!(r#""views by limit": {:.3}"#, ratio("limit", "views_1")),
        format!(r#""views by kept": {:.3}"#, ratio("limit_kept", "views_1")),
        format!(r#""binary by limit": {:.3}"#, ratio("limit_copy", "binary_1")),
    ];
    for kind in KINDS {
        let [one, two, processes] = ["1", "2", "processes"].map(|each| format!("{kind}_{each}"));
        ratios.push(format!(r#""{kind} threads": {:.3}"#, ratio(&one, &two)));
        // Two processes read twice the data.
        ratios.push(format!(r#""{kind} processes": {:.3}"#, 2.0 * ratio(&one, &processes)));
        ratios.push(format!(r#""{kind} threads by processes": {:.3}"#, ratio(&processes, &two) / 2.0));
        if kind.ends_with(FILE) {
            let one_file = format!("{kind}_one_file");
            ratios.push(format!(r#""{kind} threads by one file": {:.3}"#, ratio(&one_file, &two) / 2.0));
        }
    }
    let codec = Codec::of(data).kind.name();
    let ratios = ratios.join(", ");
    format!(
        r#"{{"segment": {path:?}, "codec": "{codec}", "bytes": {}, "records": {records}, "ns": {{{times}}}, "fastest": {{{fastest}}}, "ratios": {{{ratios}}}}}"#,
        data.len()
    )
}
