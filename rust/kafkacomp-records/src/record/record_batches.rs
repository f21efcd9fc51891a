//! The records of a record set, one after another.

use bytes::Bytes;

use super::batch::RecordBatch;
use super::batches::{Batches, Tail};
use super::error::{Error, Result};
use super::owned_record::OwnedRecord;
use super::reader::{PausedRecords, RecordReader};
use crate::CompressionType;
use crate::limits::Limits;

/// Iterates over the records of a record set: batches of any message format, as in a segment or a fetch response.
///
/// The checksum of each batch is verified before its records are returned. Control batches, which have no records of a producer, are
/// left out; records of aborted transactions are not. After an invalid batch, the iteration continues with the next one; after bytes
/// that are not a batch, it ends. A batch that is truncated by the end of the bytes is not an error: see [`tail`](Self::tail).
///
/// ```
/// use kafkacomp_records::limits::Limits;
/// use kafkacomp_records::record::RecordBatches;
///
/// # fn read(bytes: Vec<u8>) -> Result<(), kafkacomp_records::record::Error> {
/// for record in RecordBatches::new(bytes, Limits::default().max_output_size(16 << 20)) {
///     let record = record?;
///     println!("{}: {:?}", record.offset, record.value);
/// }
/// # Ok(())
/// # }
/// # read(Vec::new()).unwrap();
/// ```
#[derive(Debug)]
pub struct RecordBatches {
    data: Bytes,
    /// Where `data` begins in the file that errors name.
    start: u64,
    /// The bytes of the batches that were begun.
    taken: usize,
    reader: RecordReader,
    current: Option<Batch>,
    tail: Option<Tail>,
}

/// A batch whose records are being returned.
#[derive(Debug)]
struct Batch {
    records: PausedRecords,
    content: Bytes,
    position: u64,
}

impl RecordBatches {
    /// The records of `data`, which is not copied.
    pub fn new(data: impl Into<Bytes>, limits: Limits) -> Self {
        let reader = RecordReader::new(limits.output_size());
        Self { data: data.into(), start: 0, taken: 0, reader, current: None, tail: None }
    }

    /// Continues with other bytes, which begin at `position` of a file.
    pub fn continue_with(&mut self, data: impl Into<Bytes>, position: u64) {
        (self.data, self.start, self.taken) = (data.into(), position, 0);
        (self.current, self.tail) = (None, None);
    }

    /// What follows the last complete batch; `None` before the end of the iteration, and if it ended with an error.
    pub fn tail(&self) -> Option<Tail> {
        self.tail
    }

    /// Begins the next batch; returns whether there was one.
    fn begin(&mut self) -> Result<bool> {
        let rest = self.data.slice(self.taken.min(self.data.len())..);
        let position = self.start.saturating_add(self.taken as u64);
        let mut batches = Batches::new(&rest, position);
        let batch = match batches.next() {
            Some(Ok(batch)) => batch,
            Some(Err(error)) => {
                self.taken = self.data.len();
                return Err(error);
            }
            None => {
                self.tail = self.tail.or(batches.tail());
                return Ok(false);
            }
        };
        self.taken = self.taken.saturating_add(batch.size_in_bytes());
        batch.ensure_valid()?;
        if !batch.is_control_batch() {
            self.current = Some(open(&mut self.reader, &batch, &rest)?);
        }
        Ok(true)
    }
}

/// The records of a batch, which is a part of `data`.
fn open(reader: &mut RecordReader, batch: &RecordBatch<'_>, data: &Bytes) -> Result<Batch> {
    let position = batch.position();
    let records = reader.records(batch)?.pause();
    let content = match batch.compression_type()? {
        CompressionType::None => data.slice_ref(batch.data()),
        _ => reader.owned_payload().map_err(|error| Error::out_of_memory(error, position))?.into(),
    };
    Ok(Batch { records, content, position })
}

impl Iterator for RecordBatches {
    type Item = Result<OwnedRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(Batch { records, content, position }) = self.current.take() else {
                match self.begin() {
                    Ok(true) => continue,
                    Ok(false) => return None,
                    Err(error) => return Some(Err(error)),
                }
            };
            let mut records = records.resume(&content);
            match records.next() {
                None => {}
                Some(Err(error)) => return Some(Err(error)),
                Some(Ok(record)) => {
                    let owned = OwnedRecord::within(&content, &record);
                    let records = records.pause();
                    self.current = Some(Batch { records, content, position });
                    return Some(owned.map_err(|error| Error::out_of_memory(error, position)));
                }
            }
        }
    }
}
