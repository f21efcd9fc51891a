//! Patterns of names and paths: `*`, `?`, `[ab]`, `[a-c]`, `[!a]` or `[^a]`, `{a,b}`, and `**` for any number of folders.
//!
//! They are those of fsspec with Hadoop's braces and negation. No wildcard but `**` matches a slash, and a name that begins with a
//! dot is matched only by a pattern that does. A bracket that is not closed is a character like others.

use std::io;
use std::path::{Path, PathBuf};

use super::path::{child, text_of};
use super::store::{Entry, Store};

/// The most alternatives in braces, whose number multiplies.
const MOST_ALTERNATIVES: usize = 10_000;
/// The most folders in one another that `**` searches.
const MOST_FOLDERS: usize = 64;

/// A pattern of a name.
#[derive(Debug, Clone)]
pub struct Glob {
    pattern: String,
    items: Vec<Item>,
    /// Whether each bracket is closed.
    is_closed: bool,
}

/// A pattern of a name with braces.
#[derive(Debug, Clone)]
pub struct NamePattern(Vec<Glob>);

impl NamePattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// It has too many alternatives, or a bracket or brace is not closed.
    pub fn new(pattern: &str) -> Result<Self, GlobError> {
        let globs: Vec<Glob> = alternatives(pattern)?.into_iter().map(Glob::new).collect();
        let is_closed = globs.iter().all(|glob| glob.is_closed && !glob.pattern.contains('{'));
        if is_closed { Ok(Self(globs)) } else { Err(GlobError::NotClosed(pattern.to_owned())) }
    }

    /// Whether the pattern matches a whole name.
    pub fn matches(&self, name: &str) -> bool {
        self.0.iter().any(|glob| glob.matches(name))
    }
}

#[derive(Debug, Clone)]
enum Item {
    Character(char),
    Any,
    Many,
    Class { ranges: Vec<(char, char)>, is_negated: bool },
}

/// A pattern that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GlobError {
    /// It has too many alternatives.
    #[error("{0}: more than {MOST_ALTERNATIVES} alternatives in braces")]
    Alternatives(String),
    /// A bracket or brace is not closed.
    #[error("{0:?} has a bracket or brace that is not closed")]
    NotClosed(String),
    /// A folder cannot be listed.
    #[error("{}: {}", .0.display(), .1)]
    Io(PathBuf, #[source] io::Error),
}

impl Glob {
    /// Compiles a pattern without braces.
    pub fn new(pattern: impl Into<String>) -> Self {
        let pattern = pattern.into();
        let mut items = Vec::new();
        let mut is_closed = true;
        let mut rest = pattern.as_str();
        while let Some(first) = rest.chars().next() {
            rest = &rest[first.len_utf8()..];
            items.push(match first {
                '*' => Item::Many,
                '?' => Item::Any,
                '[' => {
                    let class = class(rest);
                    is_closed &= class.is_some();
                    class.map_or(Item::Character('['), |(item, after)| {
                        rest = after;
                        item
                    })
                }
                other => Item::Character(other),
            });
        }
        Self { pattern, items, is_closed }
    }

    /// The pattern as it was given.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Whether the pattern matches a whole name.
    pub fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let (mut item, mut at) = (0, 0);
        // Where to resume if the rest does not match: after the last `*`, with one more character for it.
        let mut retry: Option<(usize, usize)> = None;
        while at < name.len() {
            match self.items.get(item) {
                Some(Item::Many) => {
                    item += 1;
                    retry = Some((item, at));
                }
                Some(one) if one.matches(name[at]) => (item, at) = (item + 1, at + 1),
                _ => match retry {
                    Some((after, from)) => {
                        (item, at) = (after, from + 1);
                        retry = Some((after, from + 1));
                    }
                    None => return false,
                },
            }
        }
        self.items.iter().skip(item).all(|item| matches!(item, Item::Many))
    }
}

impl Item {
    fn matches(&self, character: char) -> bool {
        match self {
            Self::Character(own) => *own == character,
            Self::Any => true,
            Self::Many => false,
            Self::Class { ranges, is_negated } => {
                ranges.iter().any(|&(first, last)| (first..=last).contains(&character)) != *is_negated
            }
        }
    }
}

/// The class that begins after a bracket, and what is after it; `None` if it is not closed.
fn class(text: &str) -> Option<(Item, &str)> {
    let inner = text.strip_prefix(['!', '^']);
    let inside = inner.unwrap_or(text);
    // A bracket directly after the beginning is a member.
    let skipped = inside.chars().next()?.len_utf8();
    let end = skipped + inside.get(skipped..)?.find(']')?;
    let members: Vec<char> = inside.get(..end)?.chars().collect();
    let mut ranges = Vec::new();
    let mut at = 0;
    while let Some(&first) = members.get(at) {
        let last = members.get(at + 1..at + 3).and_then(|next| if let &['-', last] = next { Some(last) } else { None });
        ranges.push((first, last.unwrap_or(first)));
        at += if last.is_some() { 3 } else { 1 };
    }
    Some((Item::Class { ranges, is_negated: inner.is_some() }, inside.get(end + 1..)?))
}

/// Whether a path has characters of patterns.
pub fn has_wildcards(path: &str) -> bool {
    path.contains(['*', '?', '[', '{'])
}

/// The patterns without braces that a pattern with them stands for, each once.
///
/// # Errors
/// There are more than 10,000.
pub fn alternatives(pattern: &str) -> Result<Vec<String>, GlobError> {
    let mut open = vec![pattern.to_owned()];
    let mut done: Vec<String> = Vec::new();
    while let Some(each) = open.pop() {
        // The innermost braces first.
        let braces = each.find('}').and_then(|end| Some((each.get(..end)?.rfind('{')?, end)));
        let Some((begin, end)) = braces else {
            if !done.contains(&each) {
                done.push(each);
            }
            continue;
        };
        let (before, after) = (&each[..begin], &each[end + 1..]);
        let words = each[begin + 1..end].split(',').rev();
        open.extend(words.map(|word| format!("{before}{word}{after}")));
        if open.len() + done.len() > MOST_ALTERNATIVES {
            return Err(GlobError::Alternatives(pattern.to_owned()));
        }
    }
    Ok(done)
}

/// The files and folders in `folder` that a pattern of a relative path matches, in the order of its alternatives and of their paths.
///
/// # Errors
/// The pattern has too many alternatives, or a folder that it names or matches cannot be listed.
pub fn matches(store: &dyn Store, folder: &Path, pattern: &str) -> Result<Vec<Entry>, GlobError> {
    let mut found: Vec<Entry> = Vec::new();
    for each in alternatives(pattern)? {
        let parts: Vec<&str> = each.split('/').filter(|part| !part.is_empty()).collect();
        let before = found.len();
        walk(store, folder, &parts, 0, &mut found)?;
        let mut seen: std::collections::HashSet<PathBuf> =
            found[..before].iter().map(|entry| entry.path.clone()).collect();
        let own = found.split_off(before);
        found.extend(own.into_iter().filter(|entry| seen.insert(entry.path.clone())));
    }
    Ok(found)
}

fn walk(
    store: &dyn Store,
    folder: &Path,
    parts: &[&str],
    depth: usize,
    found: &mut Vec<Entry>,
) -> Result<(), GlobError> {
    let Some((part, rest)) = parts.split_first() else { return Ok(()) };
    let listed = if has_wildcards(part) {
        store.list(folder)
    } else {
        store.entry(&child(folder, part)).map(|entry| vec![entry])
    };
    let mut entries = match listed {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(()),
        Err(error) => return Err(GlobError::Io(folder.to_owned(), error)),
    };
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    let is_recursive = *part == "**";
    if is_recursive && !rest.is_empty() {
        walk(store, folder, rest, depth, found)?; // no folder at all
    }
    let glob = has_wildcards(part).then(|| Glob::new(*part));
    for entry in entries {
        let name = text_of(&entry.path);
        let is_named = glob.as_ref().is_none_or(|glob| glob.matches(&name) && is_shown(&name, part));
        if !is_named {
            continue;
        }
        let path = entry.path.clone();
        let is_folder = entry.is_folder;
        if rest.is_empty() {
            found.push(entry);
        } else if is_folder && !is_recursive {
            walk(store, &path, rest, depth, found)?;
        }
        if is_recursive && is_folder && depth < MOST_FOLDERS {
            walk(store, &path, parts, depth + 1, found)?;
        }
    }
    Ok(())
}

fn is_shown(name: &str, pattern: &str) -> bool {
    pattern.starts_with('.') || !name.starts_with('.')
}
