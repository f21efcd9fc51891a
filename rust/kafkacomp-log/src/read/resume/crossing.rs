//! Batches that show by where they are that the end which a corrupt batch states is wrong.

use super::super::candidate::{Claim, Layout};
use super::super::resync::{Check, Resync};
use super::super::source::ReadAt;
use super::{Corrupt, Judge};
use crate::error::ReadError;

impl<F: Layout> Resync<F> {
    /// Whether intact batches lead from the one at `at` to one that begins before the end that the corrupt batch states, and ends after
    /// it. A value or a wrapper ends before the batch that it is in, so that these are batches of the log, whatever their offsets.
    pub(super) fn leads_across_end(
        &mut self,
        source: &dyn ReadAt,
        at: u64,
        claim: &Claim,
        judge: &mut Judge,
    ) -> Result<bool, ReadError> {
        let Some(Corrupt { end: stated, walked_to, .. }) = &mut judge.corrupt else { return Ok(false) };
        // Batches after those that led nowhere do not either.
        if at < *walked_to {
            return Ok(false);
        }
        *walked_to = at.saturating_add(claim.candidate.length);
        while *walked_to < *stated {
            let Check::Intact(end) = self.check(source, *walked_to, self.end)? else { return Ok(false) };
            *walked_to = end;
        }
        Ok(*walked_to > *stated)
    }
}
