//! Builds batches of many topics and partitions from one stream of rows.

use arrow_array::RecordBatch as ArrowRecordBatch;
use kafkacomp_records::record::{BatchSettings, HeadersBuffer, PairedBuilder};

use super::route::{RouteColumns, Router};
use super::{BuildError, Gaps, RecordColumns, Routing};

/// A topic and partition that rows were sent to.
#[derive(Debug, Default)]
pub struct Target {
    builder: PairedBuilder,
    /// Complete batches that the caller has not taken yet.
    pub out: Vec<u8>,
    /// The number of batches that were closed so far.
    pub batches: u64,
    /// The number of their records.
    pub records: u64,
}

/// Builds batches for each topic and partition, each with offsets from 0.
#[derive(Debug)]
pub struct PartitionedBatcher {
    settings: BatchSettings,
    router: Router,
    headers: HeadersBuffer,
    targets: Vec<Target>,
    rows: usize,
}

impl PartitionedBatcher {
    /// A batcher for batches with these settings.
    ///
    /// # Errors
    /// Settings that the magic does not support.
    pub fn new(settings: BatchSettings, routing: Routing) -> Result<Self, BuildError> {
        settings.check()?;
        // As producers do, rows without a key stay in a partition until they would fill a batch.
        let router = Router::new(routing, settings.write_limit.max(0) as u64);
        Ok(Self { settings, router, headers: HeadersBuffer::new(), targets: Vec::new(), rows: 0 })
    }

    /// Adds all rows, and appends full batches to `out` of their targets; the last one of a target may wait for the next
    /// ([`PairedBuilder`]).
    ///
    /// # Errors
    /// The error of a row, counted from the first row of the stream.
    pub fn push(&mut self, rows: &ArrowRecordBatch) -> Result<(), BuildError> {
        let before = self.rows;
        let columns = RecordColumns::new(rows)?;
        let routes = RouteColumns::new(rows)?;
        let (mut begin, mut run) = (0, 0);
        for row in 0..columns.len() {
            let place = self.router.place(&columns, &routes, row).map_err(|error| error.later(before))?;
            if place != run {
                self.append(&columns, begin, row, run)?;
                (begin, run) = (row, place);
            }
        }
        self.append(&columns, begin, columns.len(), run)?;
        self.rows = before.saturating_add(columns.len());
        Ok(())
    }

    /// Appends a run of rows with the same target.
    fn append(
        &mut self,
        columns: &RecordColumns<'_>,
        mut row: usize,
        end: usize,
        place: usize,
    ) -> Result<(), BuildError> {
        if row >= end {
            return Ok(());
        }
        while self.targets.len() <= place {
            let mut target = Target::default();
            target.builder.reset(self.settings)?;
            self.targets.push(target);
        }
        let Some(target) = self.targets.get_mut(place) else { return Ok(()) };
        while row < end {
            let taken = columns.append(row..end, target.builder.current(), Gaps::EndBatch, &mut self.headers);
            row += taken.map_err(|error| error.later(self.rows))?;
            if row < end {
                target.close(self.settings)?;
            }
        }
        Ok(())
    }

    /// Closes all batches.
    ///
    /// # Errors
    /// Lack of memory for a codec.
    pub fn finish(&mut self) -> Result<(), BuildError> {
        let Self { targets, settings, .. } = self;
        targets.iter_mut().try_for_each(|target| {
            target.close(*settings)?;
            Ok(target.builder.flush(&mut target.out)?)
        })
    }

    /// The targets so far, each with its topic and partition.
    pub fn targets(&mut self) -> impl Iterator<Item = (&str, i32, &mut Target)> {
        let router = &self.router;
        self.targets.iter_mut().enumerate().filter_map(move |(index, target)| {
            let (topic, partition) = router.target(index)?;
            Some((topic.as_str(), *partition, target))
        })
    }
}

impl Target {
    fn close(&mut self, settings: BatchSettings) -> Result<(), BuildError> {
        // After `close`, the current builder has no batch.
        let records = self.builder.current().records_count();
        let next = self.builder.current().next_offset();
        self.builder.close(&mut self.out)?;
        if records > 0 {
            self.batches = self.batches.saturating_add(1);
            self.records = self.records.saturating_add(records as u64);
        }
        self.builder.reset(BatchSettings { base_offset: next, ..settings })?;
        Ok(())
    }
}
