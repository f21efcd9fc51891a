//! Reads the partitions of an internal topic and answers a question about it, as Arrow batches.

use crate::as_of::Past;
use crate::cluster::Cluster;
use crate::query::{Query, View};
use crate::state::States;
use crate::table::{ColumnOf, Rows, failed, schema};
use crate::{cluster, log_view, row, state};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use kafkacomp_arrow::{Closer, Partition, Scan, ScanError, ScanOptions, ScanReport, Step};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The rows of a view of an internal topic; an iterator. The batches of a state come at the end of the scan.
#[derive(Debug)]
pub struct InternalScan {
    scan: Scan,
    query: Query,
    schema: SchemaRef,
    fold: Fold,
    ready: VecDeque<RecordBatch>,
    is_over: bool,
}

/// What is made of the records.
#[derive(Debug)]
enum Fold {
    /// A row for each, until the point in question.
    Log(Box<Log>),
    /// The state of each partition.
    State(Box<States>),
    /// The image of the cluster.
    Cluster(Box<Cluster>),
}

/// The rows of the view of the log.
#[derive(Debug)]
struct Log {
    rows: Rows,
    /// Which records of the current partition count.
    past: Past,
    partition: Option<i32>,
}

/// The columns of a view.
fn columns(query: Query) -> Vec<ColumnOf> {
    match query.view {
        View::Log => log_view::columns(query.table),
        View::State => state::columns(query.table).to_vec(),
        view => cluster::columns(view).to_vec(),
    }
}

impl InternalScan {
    /// A scan of these partitions, all of the table's topic. `options` has the number of threads, limits, and what happens at
    /// corruption; columns and bounds are set here. For the metadata of the cluster, snapshots are partitions whose topic is the name
    /// of the file, such as `00000000000000000412-0000000002.checkpoint`, in front of the log.
    pub fn new(query: Query, partitions: Vec<Partition>, options: ScanOptions, total_bytes: u64) -> Self {
        let fold = match query.view {
            View::Log => {
                let (rows, past) = (Rows::new(&columns(query)), Past::new(query.as_of, None));
                Fold::Log(Box::new(Log { rows, past, partition: None }))
            }
            View::State => Fold::State(Box::new(States::new(query, &partitions))),
            _ => Fold::Cluster(Box::new(Cluster::new(query, &partitions))),
        };
        let scan = Scan::new(partitions, row::options(options), total_bytes);
        Self { scan, query, schema: schema(&columns(query)), fold, ready: VecDeque::new(), is_over: false }
    }

    /// As [`Scan::interruptible`].
    pub fn interruptible(mut self, interrupt: Arc<dyn kafkacomp_arrow::source::watched::Watch>) -> Self {
        self.scan = self.scan.interruptible(interrupt);
        self
    }

    /// The schema of all batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The report of the scan so far. Warnings say from when on a state is complete.
    pub fn report(&self) -> Arc<Mutex<ScanReport>> {
        self.scan.report()
    }

    /// As [`Scan::closer`].
    pub fn closer(&self) -> Closer {
        self.scan.closer()
    }

    /// The next batch, if it comes within about `patience`.
    pub fn poll(&mut self, patience: Duration) -> Step {
        let deadline = Instant::now().checked_add(patience);
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Step::Batch(batch);
            }
            if self.is_over {
                return Step::End;
            }
            let left = deadline.map_or(patience, |deadline| deadline.saturating_duration_since(Instant::now()));
            let made = match self.scan.poll(left) {
                Step::Batch(batch) => self.add(&batch),
                Step::End => self.finish(),
                other => return other,
            };
            match made {
                Ok(made) => self.ready.extend(made),
                Err(error) => {
                    self.scan.close();
                    self.is_over = true;
                    return Step::Failed(error);
                }
            }
            if left.is_zero() && self.ready.is_empty() && !self.is_over {
                return Step::Waiting;
            }
        }
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<Vec<RecordBatch>, ScanError> {
        let query = self.query;
        match &mut self.fold {
            Fold::Log(log) => {
                let Log { rows, past, partition } = &mut **log;
                row::for_each(batch, |row| {
                    if *partition != Some(row.partition) {
                        (*past, *partition) = (Past::new(query.as_of, None), Some(row.partition));
                    }
                    // Snapshots of the metadata log are no part of it.
                    if row.topic.ends_with(cluster::SNAPSHOT) || !past.counts(row.at(), None) {
                        return Ok(());
                    }
                    log_view::push(query.table, query.show_secrets, row, rows)
                })
                .map_err(failed)?;
                rows.take().map_err(failed)
            }
            Fold::State(states) => {
                let mut rows = Vec::with_capacity(batch.num_rows());
                row::for_each(batch, |row| {
                    if states.counts(&row) {
                        rows.push(row);
                    }
                    Ok::<(), ScanError>(())
                })?;
                states.add(&rows);
                Ok(Vec::new())
            }
            Fold::Cluster(cluster) => {
                row::for_each(batch, |row| cluster.add(&row))?;
                Ok(Vec::new())
            }
        }
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>, ScanError> {
        self.is_over = true;
        let report = self.scan.report();
        let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut self.fold {
            Fold::Log(_) => Ok(Vec::new()),
            Fold::State(states) => states.finish(&mut report).map_err(failed),
            Fold::Cluster(cluster) => cluster.finish(&mut report, Rows::new(&columns(self.query))),
        }
    }
}

impl Iterator for InternalScan {
    type Item = Result<RecordBatch, ScanError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.poll(Duration::from_secs(1)) {
                Step::Batch(batch) => return Some(Ok(batch)),
                Step::Failed(error) => return Some(Err(error)),
                Step::End => return None,
                Step::Waiting => {}
            }
        }
    }
}
