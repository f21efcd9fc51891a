//! Chooses partitions by topic and number, before any of their files is opened.

use super::glob::Glob;

/// Rules out partitions by the names of their folders.
pub trait Selection: Sync {
    /// Whether the partition may be read.
    fn allows(&self, topic: &str, partition: i32) -> bool;
}

/// All partitions.
#[derive(Debug, Clone, Copy, Default)]
pub struct All;

impl Selection for All {
    fn allows(&self, _topic: &str, _partition: i32) -> bool {
        true
    }
}

/// The partitions of some topics and with some numbers.
#[derive(Debug, Clone, Default)]
pub struct ByName {
    topics: Option<Vec<Glob>>,
    partitions: Option<Vec<i32>>,
}

/// A choice of what does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// No topic has the name or matches the pattern.
    #[error("topics: no topic matches '{glob}': expected one of {}", expected(known, "no topics"))]
    Topic {
        /// The name or pattern.
        glob: String,
        /// The topics that exist.
        known: Vec<String>,
    },
    /// No topic has a partition with the number.
    #[error("partitions: no topic has a partition {number}: expected one of [{}]", expected(known, ""))]
    Partition {
        /// The number.
        number: i32,
        /// The numbers that exist.
        known: Vec<i32>,
    },
}

/// The most topics or partitions that an error lists.
const SHOWN: usize = 20;

fn expected<T: ToString>(known: &[T], none: &str) -> String {
    let shown: Vec<String> = known.iter().take(SHOWN).map(ToString::to_string).collect();
    match (shown.is_empty(), known.len() > SHOWN) {
        (true, _) => none.to_owned(),
        (_, true) => format!("{}, ...", shown.join(", ")),
        _ => shown.join(", "),
    }
}

impl ByName {
    /// Chooses by names of topics or patterns such as `orders-*`, and by numbers; `None` is all.
    pub fn new(topics: Option<Vec<String>>, partitions: Option<Vec<i32>>) -> Self {
        Self { topics: topics.map(|topics| topics.into_iter().map(Glob::new).collect()), partitions }
    }

    /// The places of the chosen ones among the topics and numbers of partitions.
    ///
    /// # Errors
    /// No topic matches a name or pattern, or no topic has a partition with one of the numbers.
    pub fn choose(&self, found: &[(Option<String>, Option<i32>)]) -> Result<Vec<usize>, SelectionError> {
        let mut chosen: Vec<usize> = (0..found.len()).collect();
        let of = |at: usize| found.get(at).map_or((None, None), |(topic, number)| (topic.as_deref(), *number));
        if let Some(topics) = &self.topics {
            let mut known: Vec<String> = found.iter().filter_map(|(topic, _)| topic.clone()).collect();
            known.sort();
            known.dedup();
            if let Some(glob) = topics.iter().find(|glob| !known.iter().any(|topic| glob.matches(topic))) {
                return Err(SelectionError::Topic { glob: glob.pattern().to_owned(), known });
            }
            chosen.retain(|&at| self.has_topic(of(at).0.unwrap_or_default()));
        }
        if let Some(numbers) = &self.partitions {
            let mut known: Vec<i32> = chosen.iter().filter_map(|&at| of(at).1).collect();
            known.sort_unstable();
            known.dedup();
            if let Some(&number) = numbers.iter().find(|number| !known.contains(number)) {
                return Err(SelectionError::Partition { number, known });
            }
            chosen.retain(|&at| of(at).1.is_some_and(|number| numbers.contains(&number)));
        }
        Ok(chosen)
    }

    fn has_topic(&self, topic: &str) -> bool {
        self.topics.as_ref().is_none_or(|topics| topics.iter().any(|glob| glob.matches(topic)))
    }
}

impl Selection for ByName {
    fn allows(&self, topic: &str, partition: i32) -> bool {
        self.has_topic(topic) && self.partitions.as_ref().is_none_or(|numbers| numbers.contains(&partition))
    }
}
