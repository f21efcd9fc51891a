//! Partitions that are in several folders, as after a move between the disks of a broker that was interrupted.

use std::collections::HashMap;
use std::path::PathBuf;

use super::names::TopicPartition;

/// The folders of a partition that is in more than one. A broker has a partition in one folder, or does not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copies {
    /// The topic and partition.
    pub owner: TopicPartition,
    /// The folders in the order of the listing.
    pub folders: Vec<PathBuf>,
}

/// The partitions in several folders, in the order of their first ones.
pub fn copies(partitions: impl IntoIterator<Item = (TopicPartition, PathBuf)>) -> Vec<Copies> {
    let mut found: Vec<Copies> = Vec::new();
    let mut places: HashMap<TopicPartition, usize> = HashMap::new();
    for (owner, folder) in partitions {
        let at = *places.entry(owner.clone()).or_insert(found.len());
        match found.get_mut(at) {
            Some(copies) => copies.folders.push(folder),
            None => found.push(Copies { owner, folders: vec![folder] }),
        }
    }
    found.retain(|copies| copies.folders.len() > 1);
    found
}
