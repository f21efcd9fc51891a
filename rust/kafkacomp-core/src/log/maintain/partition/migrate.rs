//! A partition of Kafka 0.7 in a later message format.

use std::ops::ControlFlow;

use super::error::PartitionError;
use super::job::PartitionJob;
use crate::log::error::ReadError;
use crate::log::maintain::migrate::{Mapped, Migrator};
use crate::log::write::{LogWriter, WriteReport};

/// How a partition of Kafka 0.7 is migrated.
#[derive(Debug, Clone, Copy)]
pub struct MigrateOptions {
    /// The message format of the new partition.
    pub to_magic: i8,
    /// The offset of the first message.
    pub first_offset: i64,
    /// The most bytes of a batch made of plain messages.
    pub batch_bytes: i32,
}

impl PartitionJob {
    /// Writes all messages of a log of Kafka 0.7 in another message format. `mapped` is given the old positions with the
    /// offsets that they lead to, and the bytes read so far.
    ///
    /// # Errors
    /// Corruption in the source, or the file system's.
    pub fn migrate<B>(
        &self,
        options: MigrateOptions,
        mapped: &mut Mapped<'_, B>,
    ) -> Result<ControlFlow<B, WriteReport>, PartitionError> {
        self.catching_panics(|current| {
            let MigrateOptions { to_magic, first_offset, batch_bytes } = options;
            let mut migrator = Migrator::new(to_magic, first_offset, batch_bytes, self.max_output_size);
            let mut writer = LogWriter::create(&self.target, first_offset, self.write_options())
                .map_err(|error| self.at(0, error))?;
            let (mut done, mut base) = (0_u64, 0_i64);
            for (index, segment) in self.segments.iter().enumerate() {
                current.set(index);
                base = segment.base_offset.unwrap_or(base);
                let source = self.open(index)?;
                let length = source.length().map_err(|error| self.at(index, ReadError::Io(error)))?;
                let migrated = migrator.segment(source.as_ref(), base, &mut writer, &mut |mappings, now| {
                    mapped(mappings, done.saturating_add(now))
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
            let report = writer.finish().map_err(|error| self.at(current.get(), error))?;
            Ok(ControlFlow::Continue(report))
        })
    }
}
