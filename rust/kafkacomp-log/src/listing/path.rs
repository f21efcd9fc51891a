//! Paths of stores: their names are separated by slashes, also where those of the local file system have another separator.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The path of a file in a folder.
pub fn child(folder: &Path, name: &str) -> PathBuf {
    let mut path = folder.as_os_str().to_owned();
    if !path.is_empty() && !path.to_string_lossy().ends_with(['/', std::path::MAIN_SEPARATOR]) {
        path.push("/");
    }
    path.push(name);
    PathBuf::from(path)
}

/// The last name of a path; empty for a root.
pub fn name_of(path: &Path) -> &OsStr {
    path.file_name().unwrap_or_default()
}

/// The last name of a path as text; what is not UTF-8 in it is replaced.
pub fn text_of(path: &Path) -> Cow<'_, str> {
    name_of(path).to_string_lossy()
}
