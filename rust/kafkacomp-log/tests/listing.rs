//! What the names of files and folders mean, and what a folder contains, against tables of names.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kafkacomp_log::listing::loader::loaded;
use kafkacomp_log::listing::names::{self, Mark};
use kafkacomp_log::listing::remote::RemoteFolder;
use kafkacomp_log::listing::{
    All, ByName, Container, Entry, FileKind, InspectedSegment, ListError, Listing, LocalStore, LogFile, Selection,
    Store, are_misnamed, glob, list,
};
use kafkacomp_log::{InMemory, MemorySegment, OpenSegment, ReadAt};

const FIRST: &str = "00000000000000000000";
const SECOND: &str = "00000000000000000040";
const THIRD: &str = "00000000000000000070";
const HEX: &str = "0123456789abcdef0123456789abcdef";
const ID: &str = "AAAAAAAAAAAAAAAAAAAAAQ";

/// A store whose files are paths with their content. Folders are those that files are in.
#[derive(Debug, Default)]
struct Files {
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// A folder that cannot be listed.
    forbidden: Option<PathBuf>,
}

impl Files {
    fn of<'p>(paths: impl IntoIterator<Item = &'p str>) -> Self {
        let files = paths.into_iter().map(|path| (PathBuf::from(path), vec![0; 10])).collect();
        Self { files, forbidden: None }
    }

    fn list(&self) -> Listing {
        list(self, Path::new("logs"), &All).unwrap()
    }
}

impl Store for Files {
    fn entry(&self, path: &Path) -> io::Result<Entry> {
        if let Some(content) = self.files.get(path) {
            return Ok(Entry::file(path, content.len() as u64));
        }
        let is_folder = self.files.keys().any(|file| file.starts_with(path));
        if is_folder { Ok(Entry::folder(path)) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        if self.forbidden.as_deref() == Some(folder) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let mut found: Vec<Entry> = Vec::new();
        for (path, content) in &self.files {
            let Ok(rest) = path.strip_prefix(folder) else { continue };
            let mut names = rest.components();
            let Some(name) = names.next() else { continue };
            let path = folder.join(name);
            if names.next().is_none() {
                found.push(Entry::file(path, content.len() as u64));
            } else if found.last().is_none_or(|last| last.path != path) {
                found.push(Entry::folder(path));
            }
        }
        Ok(found)
    }

    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        Ok(self.files.get(path).cloned())
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        let content = self.files.get(path).cloned().ok_or(io::ErrorKind::NotFound)?;
        Ok(Arc::new(InMemory(content)))
    }

    fn segment(&self, path: &Path) -> io::Result<Arc<dyn OpenSegment>> {
        let content = self.files.get(path).cloned().ok_or(io::ErrorKind::NotFound)?;
        Ok(Arc::new(MemorySegment(Arc::new(content))))
    }
}

fn file_names(listing: &Listing) -> Vec<(String, FileKind)> {
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let of = |file: &LogFile| match file {
        LogFile::File(file) => Some((name(&file.path), file.kind)),
        LogFile::Remote(_) => None,
    };
    listing.files.iter().filter_map(of).collect()
}

#[test]
fn offsets_in_names_of_segments() {
    for (name, offset) in [
        ("00000000000000000042.log", Some(42)),
        ("00000000000000000042.kafka", Some(42)),
        ("09223372036854775807.log", Some(i64::MAX)),
        ("09223372036854775808.log", None),
        ("99999999999999999999.log", None),
        ("42.log", None),
        ("000000000000000000042.log", None),
        ("00000000000000000042.log.swap", None),
        ("0000000000000000004².log", None),
        ("00000000000000000042-AAAAAAAAAAAAAAAAAAAAAQ.log", Some(42)),
        ("00000000000000000042-AAAAAAAAAAAAAAAAAAAAA.log", None),
        ("00000000000000000042-AAAAAAAAAAAAAAAAAAAAAQ.kafka", None),
    ] {
        assert_eq!(names::segment_offset(name), offset, "{name}");
    }
    for (name, is_like) in [
        ("42.log", true),
        ("99999999999999999999.kafka", true),
        ("99999999999999999999-AAAAAAAAAAAAAAAAAAAAAQ.log", true),
        ("00000000000000000042.log", false),
        ("x.log", false),
        (".log", false),
    ] {
        assert_eq!(names::is_like_a_segment(name), is_like, "{name}");
    }
    assert!(names::is_compressed_segment("00000000000000000042.log.gz"));
    assert!(!names::is_compressed_segment("42.log.gz"));
    assert_eq!(names::leading_offset("00000000000000000042.timeindex.deleted"), Some(42));
    assert_eq!(names::leading_offset("000000000000000000421"), None);
}

#[test]
fn partitions_in_names_of_folders() {
    for (name, owner) in [
        ("orders-0", Some(("orders", 0))),
        ("a-b-12", Some(("a-b", 12))),
        ("-x-0", Some(("-x", 0))),
        ("t-2147483647", Some(("t", i32::MAX))),
        ("t-2147483648", None),
        ("t-00000000001", None),
        ("t-²", None),
        ("t-٥", None),
        ("t-+1", None),
        ("-1", None),
        ("t", None),
    ] {
        let owner = owner.map(|(topic, partition)| (topic.to_owned(), partition));
        assert_eq!(names::partition_of(OsStr::new(name)), owner, "{name}");
    }
    for (name, mark) in [
        (format!("t-0.{HEX}-delete"), Some(Mark::Delete)),
        (format!("t-0.{HEX}-future"), Some(Mark::Future)),
        ("t-0.ab-stray".to_owned(), Some(Mark::Stray)),
        (format!("x.{HEX}-stray"), Some(Mark::Stray)),
        (format!(".{HEX}-future"), Some(Mark::Future)),
        ("x.ab-stray".to_owned(), None),
        (format!("t-0.{HEX}-other"), None),
        ("t-0-delete".to_owned(), None),
        (format!("t-0.{}-delete", HEX.to_uppercase()), None),
    ] {
        assert_eq!(names::mark_of(&name), mark, "{name}");
    }
    let marked = format!("a-b-7.{HEX}-delete");
    assert_eq!(names::given_partition_of(OsStr::new(&marked)), Some(("a-b".to_owned(), 7)));
    let orders = Some(("orders-eu".to_owned(), 3));
    for folder in [format!("prefix/orders-eu-{ID}/3"), format!("orders-eu-3-{ID}")] {
        assert_eq!(names::tiered_partition_of(Path::new(&folder)), orders, "{folder}");
        assert_eq!(names::tiered_topic_id(Path::new(&folder)).as_deref(), Some(ID), "{folder}");
    }
    // An id may end like the name of a broker's folder.
    let folder = PathBuf::from("orders-eu-3-A-B_C-D_E-0123456-1234");
    assert_eq!(names::owner_of(&folder, &format!("{FIRST}-{ID}.log")), orders);
}

#[cfg(unix)]
#[test]
fn a_topic_is_unicode() {
    use std::os::unix::ffi::OsStrExt;

    assert_eq!(names::partition_of(OsStr::from_bytes(b"\xff-0")), None);
    let marked = [b"\xff-0.".as_slice(), HEX.as_bytes(), b"-delete"].concat();
    assert!(names::is_marked(&OsStr::from_bytes(&marked).to_string_lossy()));
}

#[test]
fn kinds_of_files() {
    for (name, kind) in [
        ("00000000000000000042.log", Some("log")),
        ("00000000000000000042.kafka", Some("message set")),
        ("00000000000000000042.index", Some("index")),
        ("00000000000000000042.timeindex", Some("timeindex")),
        ("00000000000000000042.txnindex", Some("txnindex")),
        ("00000000000000000042.snapshot", Some("snapshot")),
        ("00000000000000000042-AAAAAAAAAAAAAAAAAAAAAQ.index", Some("index")),
        ("00000000000000000042-AAAAAAAAAAAAAAAAAAAAAQ.leader_epoch_checkpoint", Some("leader-epoch-checkpoint")),
        ("leader-epoch-checkpoint", Some("leader-epoch-checkpoint")),
        ("recovery-point-offset-checkpoint", Some("offset-checkpoint")),
        ("log-start-offset-checkpoint", Some("offset-checkpoint")),
        ("partition.metadata", Some("partition.metadata")),
        ("quorum-state", Some("quorum-state")),
        ("meta.properties", Some("meta.properties")),
        ("bootstrap.checkpoint", Some("checkpoint")),
        ("00000000000000000266-0000000001.checkpoint", Some("checkpoint")),
        ("00000000000000000266-1.checkpoint", None),
        ("99999999999999999999.index", None),
        ("42.index", None),
        ("00000000000000000042.index.deleted", None),
        ("notes.txt", None),
    ] {
        assert_eq!(FileKind::of_name(name).map(FileKind::name), kind, "{name}");
    }
}

/// The files that are read after a broker has started, of those in the order of their names.
fn remaining(names: &[String], ends: &[(i64, Option<i64>)]) -> (Vec<String>, usize) {
    let end = |name: &str| -> Result<Option<i64>, ()> {
        let base = names::leading_offset(name).unwrap();
        Ok(ends.iter().find(|(of, _)| *of == base).and_then(|(_, end)| *end))
    };
    let state = loaded(names.iter().map(String::as_str), end).unwrap();
    let is_read =
        |name: &&String| !state.removed.contains(*name) && (state.swapped.contains(*name) || names::is_segment(name));
    (names.iter().filter(is_read).cloned().collect(), state.warnings.len())
}

/// What is shown, the files, the ends of the `.swap` files by offset, the files that are read, and the number of decisions.
type Case = (&'static str, Vec<String>, Vec<(i64, Option<i64>)>, Vec<String>, usize);

#[test]
fn leftovers_of_compactions_and_splits() {
    let log = |base: &str, suffix: &str| format!("{base}.log{suffix}");
    let fifty = "00000000000000000050";
    let old = [log(FIRST, ""), log(SECOND, ""), log(THIRD, "")];
    let with = |more: &[String]| [old.as_slice(), more].concat();
    let cases: [Case; 9] = [
        ("nothing", with(&[]), vec![], old.to_vec(), 0),
        ("deleted", with(&[log(FIRST, ".deleted")]), vec![], old.to_vec(), 0),
        ("cleaned", with(&[log(FIRST, ".cleaned")]), vec![], old.to_vec(), 0),
        (
            "a swap replaces the segments in its range",
            with(&[log(FIRST, ".swap")]),
            vec![(0, Some(70))],
            vec![log(THIRD, ""), log(FIRST, ".swap")],
            1,
        ),
        (
            "the swaps of a split replace one segment",
            with(&[log(SECOND, ".swap"), log(fifty, ".swap")]),
            vec![(40, Some(50)), (50, Some(70))],
            vec![log(FIRST, ""), log(THIRD, ""), log(SECOND, ".swap"), log(fifty, ".swap")],
            1,
        ),
        (
            "swaps of an unfinished group",
            with(&[log(fifty, ".swap"), log(SECOND, ".cleaned")]),
            vec![(50, Some(70))],
            old.to_vec(),
            1,
        ),
        (
            "a swap below the unfinished group",
            with(&[log(FIRST, ".swap"), log(THIRD, ".cleaned")]),
            vec![(0, Some(70))],
            vec![log(THIRD, ""), log(FIRST, ".swap")],
            1,
        ),
        ("a corrupt swap, and its segment exists", with(&[log(SECOND, ".swap")]), vec![(40, None)], old.to_vec(), 1),
        (
            "a corrupt swap that is the only copy",
            vec![log(FIRST, ""), log(SECOND, ".swap")],
            vec![(40, None)],
            vec![log(FIRST, ""), log(SECOND, ".swap")],
            1,
        ),
    ];
    for (what, names, ends, expected, warnings) in cases {
        assert_eq!(remaining(&names, &ends), (expected, warnings), "{what}");
    }
}

#[test]
fn a_log_directory() {
    let segment = format!("logs/t-0/{FIRST}.log");
    let marked = format!("logs/u-1.{HEX}-stray/{FIRST}.log");
    let orphan = format!("logs/t-0/{THIRD}.index");
    let files = Files::of([
        segment.as_str(),
        &format!("logs/t-0/{SECOND}.log"),
        &format!("logs/t-0/{SECOND}.snapshot"),
        &orphan,
        "logs/t-0/123.log",
        "logs/t-0/leader-epoch-checkpoint",
        "logs/t-10/00000000000000000000.log",
        "logs/t-9/00000000000000000000.log",
        "logs/foo/00000000000000000000.log",
        "logs/notes/deep/a.txt",
        "logs/notes.txt",
        "logs/.lock",
        "logs/cleaner-offset-checkpoint",
        &marked,
    ]);
    let found = files.list();
    let owners: Vec<_> = found.partitions.iter().map(|each| each.owner.clone().unwrap()).collect();
    assert_eq!(owners, [("t".to_owned(), 0), ("t".to_owned(), 9), ("t".to_owned(), 10)]);
    let first = &found.partitions[0];
    assert_eq!(first.segments.iter().map(|each| each.base_offset).collect::<Vec<_>>(), [Some(0), Some(40)]);
    assert_eq!(first.segments.iter().map(|each| each.is_active).collect::<Vec<_>>(), [false, true]);
    assert_eq!((first.snapshot, first.log_dir.as_deref()), (Some(40), Some(Path::new("logs"))));
    let others: Vec<_> = found
        .others
        .iter()
        .map(|each| (each.path.to_str().unwrap(), each.size, each.is_error, each.is_foreign))
        .collect();
    assert_eq!(
        others,
        [
            ("logs/notes.txt", 10, false, true),
            ("logs/foo", 10, false, false),
            ("logs/notes", 10, false, true),
            (orphan.as_str(), 10, true, false),
            ("logs/t-0/123.log", 10, true, false),
            (marked.rsplit_once('/').unwrap().0, 10, false, false),
        ]
    );
    assert!(file_names(&found).contains(&("cleaner-offset-checkpoint".to_owned(), FileKind::OffsetCheckpoint)));
    assert!(found.failures.is_empty() && found.decisions.is_empty());
}

#[test]
fn the_verdict_of_a_directory() {
    let mut files = Files::of([
        "logs/1/t-0/00000000000000000000.log",
        "logs/1/t-0/00000000000000000000.index",
        "logs/1/t-0/00000000000000000007.txnindex",
        "logs/2/t-0/00000000000000000000.log",
    ]);
    let epochs = PathBuf::from("logs/2/t-0/leader-epoch-checkpoint");
    files.files.insert(epochs.clone(), b"0\n2\n3 0\n2 10\n".to_vec());
    files.files.insert(PathBuf::from("logs/big.bin"), vec![0; 1234]);
    let listing = files.list();
    let found: Vec<_> = listing
        .findings(&files)
        .unwrap()
        .into_iter()
        .map(|each| (each.path.to_string_lossy().into_owned(), each.is_error, each.message))
        .collect();
    let orphan = "logs/1/t-0/00000000000000000007.txnindex";
    let expected = [
        (orphan, true, "index without a segment: 00000000000000000007.log does not exist"),
        ("logs/big.bin", false, "not part of a log (1,234 bytes)"),
        ("logs/1/t-0", false, "t-0: in 2 folders, and the records of each are read: logs/1/t-0, logs/2/t-0"),
        ("logs/2/t-0/leader-epoch-checkpoint", true, "epoch 2 does not follow epoch 3"),
    ];
    for (path, is_error, message) in expected {
        assert!(found.contains(&(path.to_owned(), is_error, message.to_owned())), "{path}: {found:?}");
    }
    // An incomplete last entry of a transaction index is left out; an index next to its segment is checked with it.
    assert_eq!(found.len(), expected.len(), "{found:?}");
}

#[test]
fn what_is_selected_is_listed_before_anything_is_opened() {
    let mut files = Files::of(["logs/t-0/00000000000000000000.log", "logs/u-0/00000000000000000000.log"]);
    files.forbidden = Some(PathBuf::from("logs/u-0"));
    let selection = ByName::new(Some(vec!["t*".to_owned()]), None);
    let found = list(&files, Path::new("logs"), &selection).unwrap();
    assert_eq!(found.partitions.len(), 1);
    let [failure] = found.failures.as_slice() else { panic!("{:?}", found.failures) };
    assert!(failure.is_ruled_out(&selection) && !failure.is_ruled_out(&All));
    files.forbidden = None;
    let found = list(&files, Path::new("logs"), &selection).unwrap();
    assert_eq!(found.partitions.iter().map(|each| each.segments.len()).collect::<Vec<_>>(), [1, 0]);
}

#[test]
fn choices_that_do_not_exist() {
    let known = [(Some("orders".to_owned()), Some(0)), (Some("orders-eu".to_owned()), Some(3))];
    let choose = |topics: Option<&str>, partitions: Option<Vec<i32>>| {
        ByName::new(topics.map(|topic| vec![topic.to_owned()]), partitions)
            .choose(&known)
            .map_err(|error| error.to_string())
    };
    assert_eq!(choose(Some("orders*"), None), Ok(vec![0, 1]));
    assert_eq!(choose(Some("orders-[!x]u"), Some(vec![3])), Ok(vec![1]));
    assert_eq!(
        choose(Some("x"), None),
        Err("topics: no topic matches 'x': expected one of orders, orders-eu".to_owned())
    );
    assert_eq!(
        choose(Some("orders"), Some(vec![1])),
        Err("partitions: no topic has a partition 1: expected one of [0]".to_owned())
    );
    assert!(ByName::new(None, Some(vec![3])).allows("any", 3));
}

#[test]
fn folders_and_files_without_a_log() {
    for (path, names, message) in [
        ("logs", &["logs/notes.txt"] as &[&str], "no Kafka log segments in this folder"),
        ("logs/missing", &["logs/notes.txt"], "entity not found"),
        ("logs/00000000000000000000.index", &["logs/00000000000000000000.index"], "this is an index file (.index)"),
    ] {
        let error = list(&Files::of(names.iter().copied()), Path::new(path), &All).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
    let mut files = Files::default();
    files.files.insert(PathBuf::from("logs/deep/00000000000000000000.log.gz"), b"\x1f\x8b\x08\x00".to_vec());
    let error = list(&files, Path::new("logs"), &All).unwrap_err();
    assert!(
        matches!(&error, ListError::NotASegment { reason, .. } if reason.starts_with("this is a gzip file")),
        "{error}"
    );
    files.files.insert(PathBuf::from("logs/rows.bin"), b"PAR1".to_vec());
    let error = list(&files, Path::new("logs/rows.bin"), &All).unwrap_err();
    assert!(error.to_string().contains("a Parquet file"), "{error}");
}

#[test]
fn names_of_other_systems() {
    for (name, is_other) in [
        ("5-1-v1.log", true),
        ("0-1-100-200-v1.log", true),
        ("0-1-100-200-3-v1.log.7", true),
        ("5-v1.log", false),
        ("5-1-v1.log.x", false),
        ("00000000000000000000.log", false),
        ("a-1-v1.log", false),
    ] {
        assert_eq!(Container::of_name(name).is_some(), is_other, "{name}");
    }
}

#[test]
fn tiered_storage() {
    let manifest = format!("logs/t-{ID}/0/{FIRST}-{ID}.rsm-manifest");
    let files = Files::of([
        manifest.as_str(),
        &format!("logs/t-{ID}/0/{FIRST}-{ID}.log"),
        &format!("logs/u-1-{ID}/{FIRST}-{ID}.log"),
        &format!("logs/u-1-{ID}/{FIRST}-{ID}.timeindex"),
    ]);
    let found = files.list();
    let owners: Vec<_> = found.partitions.iter().map(|each| each.owner.clone().unwrap()).collect();
    assert_eq!(owners, [("t".to_owned(), 0), ("u".to_owned(), 1)]);
    assert_eq!(found.remotes.iter().map(RemoteFolder::has_manifests).collect::<Vec<_>>(), [true, false]);
    assert_eq!(found.remotes[0].topic_id.as_deref(), Some(ID));
    // A segment with a manifest is decoded as a whole; the other's files are files.
    assert_eq!(file_names(&found).len(), 2);
}

#[test]
fn patterns() {
    for (pattern, name, is_match) in [
        ("orders-*", "orders-0", true),
        ("orders-*", "order", false),
        ("o?ders", "orders", true),
        ("[a-c]x", "bx", true),
        ("[!a-c]x", "bx", false),
        ("[^a-c]x", "dx", true),
        ("[]a]x", "]x", true),
        ("[ax", "[ax", true),
        ("*a*b", "xxaxxb", true),
        ("*a*b", "xxaxxbc", false),
        ("", "", true),
    ] {
        assert_eq!(glob::Glob::new(pattern).matches(name), is_match, "{pattern} {name}");
    }
    assert_eq!(glob::alternatives("{a,b}-{1,{2,3}}").unwrap(), ["a-1", "a-2", "a-3", "b-1", "b-2", "b-3"]);
    assert!(glob::alternatives(&"{a,b,c,d,e,f,g,h,i,j}".repeat(5)).is_err());
    assert!(glob::NamePattern::new("{a").is_err() && glob::NamePattern::new("[a").is_err());
    let files = Files::of(["logs/a/t-0/x", "logs/b/t-1/x", "logs/.c/t-2/x", "logs/t-3/x"]);
    let matches = |pattern: &str| -> Vec<String> {
        let found = glob::matches(&files, Path::new("logs"), pattern).unwrap();
        found.into_iter().map(|entry| entry.path.strip_prefix("logs").unwrap().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(matches("*/t-*"), ["a/t-0", "b/t-1"]);
    assert_eq!(matches("**/t-*"), ["t-3", "a/t-0", "b/t-1"]);
    assert_eq!(matches("{b,a}/t-*"), ["b/t-1", "a/t-0"]);
    assert_eq!(matches("a/t-0"), ["a/t-0"]);
    assert_eq!(matches(".*/t-*"), [".c/t-2"]);
    assert!(matches("z*").is_empty());
}

#[test]
fn the_local_file_system() {
    let folder = std::env::temp_dir().join(format!("kafkacomp-listing-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("t-0")).unwrap();
    std::fs::write(folder.join("t-0").join(format!("{FIRST}.log")), [0; 7]).unwrap();
    let found = list(&LocalStore, &folder, &All);
    std::fs::remove_dir_all(&folder).unwrap();
    let found = found.unwrap();
    assert_eq!(found.partitions[0].segments[0].size, 7);
    assert_eq!(LocalStore.entry(&folder).unwrap_err().kind(), io::ErrorKind::NotFound);
}

/// The header of a batch of format 2 up to its magic.
fn header(offset: i64) -> Vec<u8> {
    [&offset.to_be_bytes()[..], &49_i32.to_be_bytes(), &[0; 4], &[2]].concat()
}

#[test]
fn segments_that_are_looked_at() {
    let folder = std::env::temp_dir().join(format!("kafkacomp-inspected-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let segment = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, content).unwrap();
        InspectedSegment::open(&path)
    };
    let read = |segment: &InspectedSegment| {
        let source = segment.open().map_err(|error| error.kind())?;
        let mut content = vec![0; usize::try_from(source.length().unwrap()).unwrap()];
        let length = source.read_at(&mut content, 0).unwrap();
        content.truncate(length);
        Ok::<_, io::ErrorKind>(content)
    };
    let (first, second) = (segment("0", &header(5)), segment("100", &header(100)));
    for (bases, is_misnamed) in
        [([0, 100], false), ([0, 101], true), ([5, 100], false), ([6, 100], true), ([0, 5], true), ([0, 0], false)]
    {
        let named = [(Some(bases[0]), &first), (Some(bases[1]), &second)];
        assert_eq!(are_misnamed(&named), is_misnamed, "{bases:?}");
    }
    assert!(!are_misnamed(&[(Some(100), &segment("short", b"123")), (None, &second)]));
    assert!(segment("packed", b"\x1f\x8b\x08\x00").container().is_some() && first.container().is_none());
    // What is kept is what is at the path.
    assert_eq!(read(&first), Ok(header(5)));
    assert_eq!(read(&first), Ok(header(5)));
    std::fs::write(folder.join("new"), b"other").unwrap();
    std::fs::rename(folder.join("new"), folder.join("100")).unwrap();
    assert_eq!(read(&second), Ok(b"other".to_vec()));
    let gone = segment("gone", b"x");
    std::fs::remove_file(folder.join("gone")).unwrap();
    assert_eq!(read(&gone), Err(io::ErrorKind::NotFound));
    std::fs::remove_dir_all(&folder).unwrap();
}
