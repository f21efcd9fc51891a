//! Reads a chunk of batches that continue one another.

use std::sync::atomic::AtomicUsize;

use kafkacomp_log::map::Survey;
use kafkacomp_log::{ChunkBuffer, ChunkEnd, Compaction, ReadError};

use super::Open;
use super::batch_check::{BatchCheck, Checksums};
use super::step::{ChunkResult, Step};
use crate::options::ScanOptions;
use crate::plan::continuity::{Anomaly, Settled};
use crate::plan::segment_reader::Reader;

impl Open {
    pub(super) fn read_batches(
        &mut self,
        buffer: &mut ChunkBuffer,
        target: usize,
        waiting: &AtomicUsize,
        options: &ScanOptions,
    ) -> Result<(usize, ChunkResult), ReadError> {
        let (position, before) = (self.reader.position(), self.continuity.clone());
        let mut checksums = self.checksums(options, waiting);
        let mut settled: Option<(Settled, bool)> = None;
        loop {
            match self.read_checked(buffer, target, (checksums, waiting))? {
                // An anomaly may be corruption: read again with verification.
                (_, ChunkResult::Unverified) => {
                    // There may be more, so that the chunks after this one are read once.
                    self.anomaly = Some(position);
                    checksums = Checksums::Verified;
                }
                (_, ChunkResult::Anomaly(anomaly)) => match self.settles(anomaly) {
                    Some(found) if settled != Some(found) => settled = Some(found),
                    // Nothing of the chunk is returned before it is judged.
                    _ => {
                        self.reader.seek(position);
                        self.continuity = before;
                        return Ok((0, ChunkResult::Step(Step::Judge)));
                    }
                },
                read => return Ok(read),
            }
            self.reader.seek(position);
            self.continuity.clone_from(&before);
            if let (Some(continuity), Some((settled, is_thinned))) = (&mut self.continuity, settled) {
                continuity.settle(settled, is_thinned);
            }
        }
    }

    /// Which gaps need no judgement, if the anomaly is one of them.
    ///
    /// A gap that compaction explains does not, if the segment is in order: the rest of it, or all of it if reading does not begin
    /// at its start. In an object store, gaps need none
    /// if the partition is beyond the horizon.
    pub(super) fn settles(&mut self, anomaly: Anomaly) -> Option<(Settled, bool)> {
        let Anomaly::Gap { position, expected, first } = anomaly else { return None };
        let continuity = self.continuity.as_ref()?;
        if !self.at_gaps.judges {
            self.at_gaps.passed_gap |= !continuity.compaction().explains(expected, first);
            return Some((Settled::All, false));
        }
        if continuity.has_losses() {
            return None;
        }
        let compaction = continuity.compaction();
        if compaction != Compaction::Unknown && !compaction.explains(expected, first) {
            return None;
        }
        // What cannot be read is an error of the judgement, after what is before it.
        let (from, start) = if self.begin == 0 { (position, first) } else { (0, self.context.base_offset) };
        let Ok(survey) = Survey::light_from(self.source.0.as_ref(), from) else { return None };
        let is_in_order = survey.increases(start, continuity.until());
        let is_explained = compaction.or_thinned(survey.is_thinned()).explains(expected, first);
        (is_in_order && is_explained).then(|| (Settled::Compacted, survey.is_thinned()))
    }

    fn read_checked(
        &mut self,
        buffer: &mut ChunkBuffer,
        target: usize,
        (checksums, waiting): (Checksums, &AtomicUsize),
    ) -> Result<(usize, ChunkResult), ReadError> {
        let begin = self.reader.position();
        let (source, last_offset) = (self.source.0.as_ref(), self.context.last_offset);
        let Reader::Records(reader) = &mut self.reader else { return Ok((0, ChunkResult::Step(Step::More))) };
        let mut check = BatchCheck {
            unreadable: self.unreadable.as_deref(),
            continuity: self.continuity.as_mut(),
            stop: self.stop,
            last_offset,
            checksums,
            waiting,
            verified_to: if checksums == Checksums::Later { begin } else { u64::MAX },
            enough_at: begin.saturating_add(target as u64 / 2),
            is_enough: false,
            finish: None,
            anomaly: None,
        };
        let (length, end) = reader.read(source, buffer, target, |batch| check.take(batch))?;
        let BatchCheck { finish, anomaly, checksums, verified_to, is_enough, .. } = check;
        self.verified_to = verified_to;
        let result = match (anomaly, finish) {
            (Some(_), _) if !checksums.are_known() => ChunkResult::Unverified,
            (Some(anomaly), _) => ChunkResult::Anomaly(anomaly),
            (None, Some(finish)) => ChunkResult::Step(Step::Done(finish)),
            (None, None) => ChunkResult::End(if is_enough { ChunkEnd::More } else { end }),
        };
        Ok((length, result))
    }
}
