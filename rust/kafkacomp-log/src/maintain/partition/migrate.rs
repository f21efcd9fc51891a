//! Migrates a partition of Kafka 0.7 to a later message format.

use std::cell::Cell;
use std::ops::ControlFlow;

use super::error::PartitionError;
use super::findings::PartitionFindings;
use super::job::PartitionJob;
use crate::continuity::missing::{MissingRange, MissingReason};
use crate::continuity::positions::OverlapError;
use crate::continuity::positions::{PositionedFile, compare_positions};
use crate::error::ReadError;
use crate::maintain::migrate::{Mapped, Migrator};
use crate::write::{ClosedLog, LogWriter};

/// Options for migrating a partition of Kafka 0.7.
#[derive(Debug, Clone, Copy)]
pub struct MigrateOptions {
    /// The message format of the new partition.
    pub to_magic: i8,
    /// The offset of the first message.
    pub first_offset: i64,
    /// The most bytes of a batch of uncompressed messages.
    pub batch_bytes: i32,
}

impl PartitionJob {
    /// Writes all messages of a log of Kafka 0.7 in another message format into the new folder, which the caller publishes. `mapped` is called with the old positions and the
    /// offsets that replace them, and with the number of bytes read so far.
    ///
    /// # Errors
    /// Corruption in the source, files that have different bytes at a position, or an I/O error.
    pub fn migrate<B>(
        &self,
        options: MigrateOptions,
        mapped: &mut Mapped<'_, B>,
    ) -> Result<ControlFlow<B, (ClosedLog, PartitionFindings)>, PartitionError> {
        let current = Cell::new(0);
        self.catching_panics(
            || current.get(),
            || {
                let MigrateOptions { to_magic, first_offset, batch_bytes } = options;
                let mut migrator = Migrator::new(to_magic, first_offset, batch_bytes, self.max_output_size);
                let mut writer = LogWriter::create(&self.target, first_offset, self.write_options())
                    .map_err(|error| self.at(0, error))?;
                let (mut done, mut base) = (0_u64, 0_i64);
                let mut chain = Chain { job: self, last: None, findings: PartitionFindings::default() };
                for (index, segment) in self.segments.iter().enumerate() {
                    current.set(index);
                    base = segment.base_offset.unwrap_or(base);
                    let source = self.open(index)?;
                    let length = source.length().map_err(|error| self.at(index, ReadError::Io(error)))?;
                    let start = match segment.base_offset {
                        Some(base) => chain.start(index, PositionedFile { source: source.as_ref(), base }, length)?,
                        None => 0,
                    };
                    if start >= length && start > 0 {
                        done = done.saturating_add(length);
                        continue;
                    }
                    let migrated =
                        migrator.segment(source.as_ref(), (base, start), &mut writer, &mut |positions, now| {
                            mapped(positions, done.saturating_add(now))
                        });
                    if let ControlFlow::Break(broken) = migrated.map_err(|error| self.at(index, error))? {
                        return Ok(ControlFlow::Break(broken));
                    }
                    done = done.saturating_add(length);
                    base = base.saturating_add_unsigned(length);
                }
                let end = migrator.finish(&mut writer).map_err(|error| self.at(current.get(), error))?;
                if let Some(end) = end
                    && let ControlFlow::Break(broken) = mapped(&[end], done)
                {
                    return Ok(ControlFlow::Break(broken));
                }
                let log = writer.close().map_err(|error| self.at(current.get(), error))?;
                Ok(ControlFlow::Continue((log, chain.findings)))
            },
        )
    }
}

/// Checks whether each file begins where those before it end.
struct Chain<'a> {
    job: &'a PartitionJob,
    /// The file with the greatest end so far: its index, its first position and its end.
    last: Option<(usize, i64, i64)>,
    findings: PartitionFindings,
}

impl Chain<'_> {
    /// The byte from which on the next file is written; earlier files have the bytes before it.
    fn start(&mut self, index: usize, file: PositionedFile<'_>, length: u64) -> Result<u64, PartitionError> {
        let end = file.base.saturating_add_unsigned(length);
        let Some((earlier, base, reached)) = self.last.filter(|_| length > 0) else {
            self.last = self.last.or(Some((index, file.base, end)));
            return Ok(0);
        };
        if let Some(range) = MissingRange::between(reached, file.base, MissingReason::Gap) {
            self.findings.missing.push((earlier, range));
        }
        if end > reached {
            self.last = Some((index, file.base, end));
        }
        if file.base >= reached {
            return Ok(0);
        }
        let last = reached.min(end).saturating_sub(1);
        let source = self.job.open(earlier)?;
        let before = PositionedFile { source: source.as_ref(), base };
        let mut message = file.base;
        let found = compare_positions(before, file, file.base, last, &mut message);
        let found = found.map_err(|error| match error {
            OverlapError::Earlier(error) => self.job.at(earlier, error),
            OverlapError::Later(error) => self.job.at(index, error),
        })?;
        let (earlier, later) = (self.job.name(earlier), self.job.name(index));
        if let Some(offset) = found {
            return Err(PartitionError::Disagreement { earlier, later, offset });
        }
        let warning = format!("{earlier} and {later} both have offsets {} to {last}; they are written once", file.base);
        self.findings.warnings.push(warning);
        Ok(reached.saturating_sub(file.base).max(0).unsigned_abs().min(length))
    }
}
