//! The bounds of a scan, checked record by record.

use kafkacomp_records::record::Record;

use crate::options::ScanOptions;
use crate::plan::context::Context;

/// The bounds that are checked for each record.
#[derive(Clone, Copy)]
pub(crate) struct RecordFilter {
    start_offset: i64,
    last_offset: i64,
    start_time: i64,
    last_timestamp: i64,
    /// Whether there is a bound of time.
    pub(crate) timestamps: bool,
    /// Whether no bound is set.
    pub(crate) always: bool,
    /// The requested offsets, including those that consumers do not see.
    asked: (i64, i64),
}

impl RecordFilter {
    /// Whether every record is within the bounds.
    pub(crate) fn all() -> Self {
        Self {
            start_offset: i64::MIN,
            last_offset: i64::MAX,
            start_time: i64::MIN,
            last_timestamp: i64::MAX,
            timestamps: false,
            always: true,
            asked: (i64::MIN, i64::MAX),
        }
    }

    pub(crate) fn new(options: &ScanOptions, context: &Context) -> Self {
        let timestamps = options.has_time_bound();
        let asked = (context.start_offset, context.last_offset);
        let visible = context.visible.filter(|_| options.visible_only).unwrap_or((i64::MIN, i64::MAX));
        let (start_offset, last_offset) = (asked.0.max(visible.0), asked.1.min(visible.1));
        Self {
            start_offset,
            last_offset,
            start_time: options.start_time.unwrap_or(i64::MIN),
            last_timestamp: options.end_time.map_or(i64::MAX, |end| end.saturating_sub(1)),
            timestamps,
            always: !timestamps && start_offset == i64::MIN && last_offset == i64::MAX,
            asked,
        }
    }

    #[inline]
    pub(crate) fn takes(&self, record: &Record<'_>) -> bool {
        self.always || ((self.start_offset..=self.last_offset).contains(&record.offset) && self.takes_timestamp(record))
    }

    /// Whether every record would be within the bounds if consumers saw it.
    pub(crate) fn asks_for_all(&self) -> bool {
        !self.timestamps && self.asked == (i64::MIN, i64::MAX)
    }

    /// Whether the record would be within the bounds if consumers saw it.
    pub(crate) fn is_asked_for(&self, record: &Record<'_>) -> bool {
        (self.asked.0..=self.asked.1).contains(&record.offset) && self.takes_timestamp(record)
    }

    #[inline]
    fn takes_timestamp(&self, record: &Record<'_>) -> bool {
        !self.timestamps
            || (record.has_timestamp() && (self.start_time..=self.last_timestamp).contains(&record.timestamp))
    }
}
