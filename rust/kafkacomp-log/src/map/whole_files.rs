//! Rule 3: files whose names are not believed.

use super::assembly::Assembly;
use super::chain::heaviest_chain;
use super::compare::CompareRecords;
use super::runs::{Run, continuous};

/// Places each file whose name is not believed as a whole, if it fits: upwards by first offset, then downwards, because one
/// such file may continue another.
///
/// Returns the files that have so many runs, more than `most`, that they were judged in parts.
pub(super) fn place_whole_files<C: CompareRecords>(log: &mut Assembly<'_, '_, C>, most: usize) -> Vec<usize> {
    let files = log.maps().iter().enumerate().filter(|(_, map)| map.window.is_none());
    let first_offset = |&(file, _): &(usize, _)| log.others(file).next().map(|(_, batch)| batch.offsets().start());
    let mut files: Vec<(usize, _)> = files.map(|(file, map)| (file, &map.others)).collect();
    files.sort_by_key(first_offset);
    let (mut waiting, mut in_parts) = (Vec::new(), Vec::new());
    for (file, stretches) in files {
        let facts = log.facts(file);
        let runs: Vec<Run> = stretches.iter().flat_map(|stretch| continuous(stretch.batches(facts))).collect();
        in_parts.extend((runs.len() > most).then_some(file));
        let chain = heaviest_chain(facts, &runs, None, most);
        if !place(log, file, &chain) {
            waiting.push((file, chain));
        }
    }
    for (file, chain) in waiting.into_iter().rev() {
        place(log, file, &chain);
    }
    in_parts
}

/// Places the batches of a file if nothing is placed at their offsets, and they lie between placed batches or continue one.
fn place<C: CompareRecords>(log: &mut Assembly<'_, '_, C>, file: usize, chain: &[Run]) -> bool {
    let (Some(first), Some(last)) = (chain.first(), chain.last()) else { return false };
    let offsets = first.offsets.through(last.offsets);
    if !log.placed.is_free(offsets) {
        return false;
    }
    let (low, high) = (log.placed.before(offsets.end()), log.placed.at_or_after(offsets.end()));
    let is_above_name = log.placed.files().get(file).is_some_and(|file| file.name <= offsets.start());
    let is_between = high.is_some() && (low.is_some() || is_above_name);
    let continues = low.is_some_and(|low| low.offsets.end() == offsets.start())
        || high.is_some_and(|high| high.offsets.start() == offsets.end());
    let fits = is_between || continues || (low.is_none() && high.is_none());
    if fits {
        for run in chain {
            let indices: Vec<usize> = run.facts.clone().collect();
            log.displace(file, &indices);
        }
    }
    fits
}
