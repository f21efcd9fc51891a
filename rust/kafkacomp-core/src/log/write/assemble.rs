//! A partition's folder from files of batches that several writers staged.

use std::path::{Path, PathBuf};

use super::rebase::append_file;
use super::{LogEnd, WriteOptions, WriteReport};
use crate::log::error::Error;

/// Writes the batches of `staged`, file by file, as segments into the new folder `target`. They continue the log in the
/// folder `existing`, if it is given, and otherwise begin at offset 0.
///
/// # Errors
/// Corruption in a file, or the file system's. Nothing is left of the folder.
pub fn assemble_log(
    staged: &[PathBuf],
    target: &Path,
    existing: Option<&Path>,
    options: WriteOptions,
) -> Result<WriteReport, Error> {
    let end = existing.map(LogEnd::of_folder).transpose()?.unwrap_or_default();
    let leader_epoch = end.leader_epoch;
    let mut writer = end.continue_in(target, options)?;
    staged.iter().try_for_each(|path| append_file(&mut writer, path, leader_epoch))?;
    writer.finish()
}
