//! Listing folders through the package's file systems.

#![expect(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kafkacomp_log::listing::{
    self, Container, Entry, FileKind, ListError, ListedPartition, Listing, LogFile, Selection, SelectionError, Store,
};
use kafkacomp_log::listing::{glob, names};
use kafkacomp_log::{OpenSegment, ReadAt, ReadError};
use kafkacomp_records::memory;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::error::read_to_py;
use crate::file_object::{Carried, Raised, attached_with, bytes_of, method, opened_file, storage_failure};
use crate::gil::{Held, attribute, call};
use crate::memory::out_of_memory;
use crate::segment::segment_files;

/// A `FileSystem` of `kafkacomp._storage.filesystem`.
#[derive(Debug)]
struct PyStore {
    filesystem: Held<Py<PyAny>>,
    raised: Raised,
}

impl PyStore {
    fn new(filesystem: Bound<'_, PyAny>, raised: &Raised) -> Self {
        Self { filesystem: Held::new(filesystem.unbind()), raised: raised.clone() }
    }

    fn attached<T>(&self, f: impl FnOnce(Python<'_>) -> PyResult<T>) -> io::Result<T> {
        attached_with(&self.raised, storage_failure, f)
    }

    fn call<'py>(&self, name: &str, path: &Path, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        method(self.filesystem.get(), name, (path.as_os_str(),), py)
    }
}

/// An `Entry` of `kafkacomp._storage.stores`.
fn entry_of(entry: &Bound<'_, PyAny>) -> PyResult<Entry> {
    let path: PathBuf = attribute(entry, "path")?.extract::<OsString>()?.into();
    let is_folder = attribute(entry, "is_dir")?.extract()?;
    Ok(if is_folder { Entry::folder(path) } else { Entry::file(path, attribute(entry, "size")?.extract()?) })
}

impl Store for PyStore {
    fn entry(&self, path: &Path) -> io::Result<Entry> {
        self.attached(|py| entry_of(&self.call("info", path, py)?))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        self.attached(|py| {
            let mut found = Vec::new();
            for entry in self.call("list", folder, py)?.try_iter()? {
                memory::push(&mut found, entry_of(&entry?)?).map_err(out_of_memory)?;
            }
            Ok(found)
        })
    }

    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        self.attached(|py| {
            let data = self.call("read", path, py)?;
            if data.is_none() {
                return Ok(None);
            }
            memory::copy_of(&bytes_of(&data, "read")?).map(Some).map_err(out_of_memory)
        })
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        self.attached(|py| opened_file(self.call("open", path, py)?, &self.raised))
    }

    fn segment(&self, path: &Path) -> io::Result<Arc<dyn OpenSegment>> {
        self.attached(|py| segment_files(self.call("segment", path, py)?, &self.raised))
    }

    fn identity(&self, folder: &Path) -> io::Result<Option<(u64, u64)>> {
        self.attached(|py| self.call("identity", folder, py)?.extract())
    }
}

/// A callable that rules out partitions by topic and number; `None` allows all.
struct PySelection {
    allowed: Option<Held<Py<PyAny>>>,
    raised: Raised,
}

impl Selection for PySelection {
    fn allows(&self, topic: &str, partition: i32) -> bool {
        let Some(allowed) = &self.allowed else { return true };
        let asked = attached_with(&self.raised, storage_failure, |py| {
            let Some(allowed) = allowed.get() else { return Ok(false) };
            call(allowed.bind(py), (topic, partition))?.is_truthy()
        });
        asked.unwrap_or(false)
    }
}

/// Runs `work` on a file system with the GIL released.
fn on_store<T: Send>(
    filesystem: Bound<'_, PyAny>,
    work: impl FnOnce(&dyn Store, &Raised) -> Result<T, ListError> + Send,
) -> PyResult<T> {
    let py = filesystem.py();
    let raised = Raised::default();
    let store = PyStore::new(filesystem, &raised);
    let done = py.detach(|| work(&store, &raised));
    let done = done.map_err(|error| list_to_py(py, error));
    raised.or(py, done)
}

/// A path of a store with a reason, as text that may have what is not Unicode.
fn with_path<'py>(py: Python<'py>, path: &Path, text: &str) -> PyResult<Bound<'py, PyAny>> {
    path.as_os_str().into_pyobject(py)?.into_any().add(format!(": {text}"))
}

fn io_to_py(py: Python<'_>, path: &Path, error: io::Error) -> PyErr {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Carried>()).and_then(|carried| carried.error(py)) {
        Some(raised) => raised,
        None => read_to_py(py, &path.to_string_lossy(), ReadError::Io(error)),
    }
}

fn list_to_py(py: Python<'_>, error: ListError) -> PyErr {
    match error {
        ListError::Io { path, error } => io_to_py(py, &path, error),
        ListError::NotASegment { path, reason } => match with_path(py, &path, &reason) {
            Ok(message) => PyValueError::new_err((message.unbind(),)),
            Err(error) => error,
        },
        nothing @ ListError::Nothing { .. } => PyValueError::new_err(nothing.to_string()),
    }
}

/// An owner as the topic and partition; `None` for each if there is none.
fn owner_fields(owner: Option<names::TopicPartition>) -> (Option<String>, Option<i32>) {
    owner.map_or((None, None), |(topic, partition)| (Some(topic), Some(partition)))
}

/// The fields of a partition, in the order of `kafkacomp._storage.listing`.
fn partition_fields(py: Python<'_>, found: ListedPartition) -> PyResult<Bound<'_, PyTuple>> {
    let (topic, number) = owner_fields(found.owner);
    let segments = PyList::empty(py);
    for segment in found.segments {
        segments.append((segment.path.into_os_string(), segment.size, segment.base_offset, segment.is_active))?;
    }
    (
        topic,
        number,
        segments,
        found.remote,
        found.log_dir.map(PathBuf::into_os_string),
        found.has_loss_file,
        found.snapshot,
        found.topic_id.map(|id| id.to_string()),
        found.is_part,
    )
        .into_pyobject(py)
}

fn entry_fields(py: Python<'_>, entry: Entry) -> PyResult<Bound<'_, PyTuple>> {
    (entry.path.into_os_string(), entry.is_folder, entry.size).into_pyobject(py)
}

fn remote_fields(py: Python<'_>, found: listing::remote::RemoteFolder) -> PyResult<Bound<'_, PyTuple>> {
    let stored = |segments: Vec<listing::remote::StoredSegment>| -> PyResult<Bound<'_, PyList>> {
        let list = PyList::empty(py);
        for segment in segments {
            let files = PyList::empty(py);
            for (kind, entry) in segment.files {
                files.append((kind.suffix(), entry_fields(py, entry)?))?;
            }
            list.append((segment.id, segment.start_offset, files))?;
        }
        Ok(list)
    };
    let (topic, partition) = owner_fields(found.owner);
    let (segments, ambiguous) = (stored(found.segments)?, stored(found.ambiguous)?);
    (found.path.into_os_string(), topic, found.topic_id, partition, segments, found.is_complete, ambiguous)
        .into_pyobject(py)
}

/// The lists of a listing, in the order of `kafkacomp._storage.listing`.
fn listing_fields(py: Python<'_>, found: Listing) -> PyResult<Bound<'_, PyTuple>> {
    let lists: [Bound<'_, PyList>; 6] = std::array::from_fn(|_| PyList::empty(py));
    let [partitions, remotes, files, others, failures, decisions] = &lists;
    for partition in found.partitions {
        partitions.append(partition_fields(py, partition)?)?;
    }
    for remote in found.remotes {
        remotes.append(remote_fields(py, remote)?)?;
    }
    for file in found.files {
        match file {
            LogFile::File(file) => files.append((file.path.into_os_string(), file.size, file.kind.name()))?,
            LogFile::Remote(place) => files.append(place)?,
        }
    }
    for other in found.others {
        others.append((other.path.into_os_string(), other.size, other.reason, other.is_error, other.is_foreign))?;
    }
    for failure in found.failures {
        let error = io_to_py(py, &failure.path, failure.error).into_value(py);
        failures.append((failure.path.into_os_string(), error))?;
    }
    for decision in found.decisions {
        decisions.append(with_path(py, &decision.path, &decision.text)?)?;
    }
    PyTuple::new(py, &lists)
}

/// Lists a folder and the folders in it.
///
/// # Errors
/// `OSError` if the folder cannot be listed.
#[pyfunction]
pub fn list_folder<'py>(
    filesystem: Bound<'py, PyAny>,
    path: OsString,
    allowed: Option<Bound<'py, PyAny>>,
    may_vanish: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = filesystem.py();
    let allowed = allowed.map(|allowed| Held::new(allowed.unbind()));
    let found = on_store(filesystem, |store, raised| {
        let selection = PySelection { allowed, raised: raised.clone() };
        listing::list_folder(store, Path::new(&path), &selection, may_vanish)
    })?;
    listing_fields(py, found)
}

/// Lists a file that is given alone.
///
/// # Errors
/// `ValueError` if it is not a segment, `OSError` if it cannot be read.
#[pyfunction]
pub fn list_file(filesystem: Bound<'_, PyAny>, path: OsString, size: u64) -> PyResult<Bound<'_, PyTuple>> {
    let py = filesystem.py();
    let found = on_store(filesystem, |store, _| listing::list_file(store, &Entry::file(path, size)))?;
    listing_fields(py, found)
}

/// The fields of the remote folder of a segment that is given alone; `None` if its name is not that of one.
///
/// # Errors
/// `OSError` if the folder cannot be listed.
#[pyfunction]
pub fn remote_folder_of(filesystem: Bound<'_, PyAny>, path: OsString) -> PyResult<Option<Bound<'_, PyTuple>>> {
    let py = filesystem.py();
    let found = on_store(filesystem, |store, _| {
        let path = Path::new(&path);
        listing::remote::RemoteFolder::of_segment(store, path)
            .map_err(|error| ListError::Io { path: path.to_owned(), error })
    })?;
    found.map(|folder| remote_fields(py, folder)).transpose()
}

/// Refuses a folder without segments that has archives, compressed segments or segments of other systems.
///
/// # Errors
/// `ValueError` for the first such file.
#[pyfunction]
pub fn refuse_packed(filesystem: Bound<'_, PyAny>, path: OsString) -> PyResult<()> {
    on_store(filesystem, |store, _| listing::check_packed(store, Path::new(&path)))
}

/// What a file is, if it is not a segment by its name or first bytes, and what to do.
///
/// # Errors
/// `OSError` if it cannot be read.
#[pyfunction]
pub fn container_of(filesystem: Bound<'_, PyAny>, path: OsString, size: u64) -> PyResult<Option<String>> {
    on_store(filesystem, |store, _| match listing::check_content(store, &Entry::file(path, size)) {
        Err(ListError::NotASegment { reason, .. }) => Ok(Some(reason)),
        checked => checked.map(|()| None),
    })
}

/// What bytes are, if they begin like an archive, a compressed file or a table, and what to do.
#[pyfunction]
pub fn container_in(head: &[u8]) -> Option<String> {
    Container::of_content(head).map(|found| found.to_string())
}

/// The files and folders that a pattern matches, as fields of entries.
///
/// # Errors
/// `ValueError` for too many alternatives, `OSError` if a folder cannot be listed.
#[pyfunction]
pub fn glob_matches(filesystem: Bound<'_, PyAny>, folder: OsString, pattern: OsString) -> PyResult<Bound<'_, PyList>> {
    let py = filesystem.py();
    let pattern = pattern.to_string_lossy().into_owned();
    let found = on_store(filesystem, |store, _| match glob::matches(store, Path::new(&folder), &pattern) {
        Ok(found) => Ok(Ok(found)),
        Err(glob::GlobError::Io(path, error)) => Err(ListError::Io { path, error }),
        Err(error) => Ok(Err(error.to_string())),
    })?;
    let list = PyList::empty(py);
    for entry in found.map_err(PyValueError::new_err)? {
        list.append(entry_fields(py, entry)?)?;
    }
    Ok(list)
}

/// A pattern of the names of files.
#[pyclass(module = "kafkacomp._kafkacomp", frozen)]
pub struct NamePattern(glob::NamePattern);

#[pymethods]
impl NamePattern {
    /// # Errors
    /// `ValueError` for too many alternatives, or a bracket or brace that is not closed.
    #[new]
    fn new(pattern: &str) -> PyResult<Self> {
        glob::NamePattern::new(pattern).map(Self).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn matches(&self, name: OsString) -> bool {
        self.0.matches(&name.to_string_lossy())
    }
}

/// The errors in the content of a side file: the byte and the message.
///
/// # Errors
/// `ValueError` for a kind of file that is not one.
#[pyfunction]
pub fn check_side_file(kind: &str, name: OsString, content: &[u8]) -> PyResult<Vec<(u64, String)>> {
    let unknown = || PyValueError::new_err(format!("{kind:?} is not a kind of side file"));
    let kind = FileKind::for_name(kind).ok_or_else(unknown)?;
    let faults = listing::check_side_file(kind, &name.to_string_lossy(), content);
    Ok(faults.into_iter().map(|fault| (fault.position, fault.message)).collect())
}

/// What is wrong with an index file whose segment does not exist.
#[pyfunction]
pub fn without_segment(name: OsString) -> String {
    listing::without_segment(&name.to_string_lossy())
}

/// A choice of partitions by the names of topics and by numbers.
#[pyclass(module = "kafkacomp._kafkacomp", frozen)]
pub struct ByName(listing::ByName);

#[pymethods]
impl ByName {
    #[new]
    fn new(topics: Option<Vec<String>>, partitions: Option<Vec<i32>>) -> Self {
        Self(listing::ByName::new(topics, partitions))
    }

    fn allows(&self, topic: &str, partition: i32) -> bool {
        self.0.allows(topic, partition)
    }

    /// The places of the chosen ones.
    ///
    /// # Errors
    /// `ValueError` if what is asked for does not exist.
    fn choose(&self, found: Vec<(Option<String>, Option<i32>)>) -> PyResult<Vec<usize>> {
        self.0.choose(&found).map_err(|error: SelectionError| PyValueError::new_err(error.to_string()))
    }
}

/// The folders of each partition that is in several, with the topic and the partition.
#[pyfunction]
pub fn copies(partitions: Vec<(String, i32, OsString)>) -> Vec<(String, i32, Vec<OsString>)> {
    let places = partitions.into_iter().map(|(topic, number, folder)| ((topic, number), PathBuf::from(folder)));
    let fields = |found: listing::Copies| {
        let (topic, number) = found.owner;
        (topic, number, found.folders.into_iter().map(PathBuf::into_os_string).collect())
    };
    listing::copies(places).into_iter().map(fields).collect()
}

/// The offset in the name of a segment; `None` if it is not the name of one.
#[pyfunction]
pub fn segment_offset(name: OsString) -> Option<i64> {
    names::segment_offset(&name.to_string_lossy())
}

/// Whether a name is that of a segment in a broker's folder.
#[pyfunction]
pub fn is_segment(name: OsString) -> bool {
    names::is_segment(&name.to_string_lossy())
}

/// Whether a name is that of a segment in tiered storage.
#[pyfunction]
pub fn is_tiered_segment(name: OsString) -> bool {
    names::is_tiered_segment(&name.to_string_lossy())
}

/// Whether a file is an index or metadata, or one that a broker deletes, swaps in or keeps for itself, by its name.
#[pyfunction]
pub fn is_not_a_segment(name: OsString) -> bool {
    listing::is_not_a_segment(&name.to_string_lossy())
}

/// The offset at the beginning of the name of a segment or one of its side files.
#[pyfunction]
pub fn leading_offset(name: OsString) -> Option<i64> {
    names::leading_offset(&name.to_string_lossy())
}

/// The topic and partition in a folder's name.
#[pyfunction]
pub fn partition_of(folder: OsString) -> Option<(String, i32)> {
    names::partition_of(&folder)
}

/// The topic and partition of a file, by its name and the path of its folder.
#[pyfunction]
pub fn owner_of(folder: OsString, name: OsString) -> (Option<String>, Option<i32>) {
    owner_fields(names::owner_of(Path::new(&folder), &name.to_string_lossy()))
}

/// The greatest offset in the names of producer snapshots.
#[pyfunction]
pub fn last_snapshot(file_names: Vec<OsString>) -> Option<i64> {
    let text: Vec<_> = file_names.iter().map(|name| name.to_string_lossy()).collect();
    names::last_snapshot(text.iter().map(AsRef::as_ref))
}

/// The kind of a file of a log by its name; `None` for others.
#[pyfunction]
pub fn kind_of(name: OsString) -> Option<&'static str> {
    FileKind::of_name(&name.to_string_lossy()).map(FileKind::name)
}

/// The kind of a file that is given alone, by its name.
#[pyfunction]
pub fn kind_of_file(name: OsString) -> Option<&'static str> {
    FileKind::of_file(&name.to_string_lossy()).map(FileKind::name)
}
