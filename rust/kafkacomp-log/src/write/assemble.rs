//! Assembles a partition's folder from the batches that several writers have staged in files.

use std::path::{Path, PathBuf};

use super::rebase::append_file;
use super::{LogEnd, WriteOptions, WriteReport};
use crate::error::Error;

/// Writes the batches of `staged`, file by file, as segments into the new folder `target`. They continue the log in the
/// folder `existing`, if it is given, and otherwise begin at offset 0.
///
/// # Errors
/// Corruption in a file, or an I/O error. The new folder is removed.
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
