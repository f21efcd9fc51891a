//! Ranges of versions, as the schemas write them.

/// A range of versions: `"0"`, `"0-3"`, `"2+"` or `"none"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions {
    /// The first version of the range.
    pub first: i16,
    /// The last version; the range is empty if it is below the first.
    pub last: i16,
}

impl Versions {
    /// No version.
    pub const NONE: Self = Self { first: 1, last: 0 };

    /// Parses a range; none if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let number = |digits: &str| digits.parse::<i16>().ok().filter(|version| *version >= 0);
        if text == "none" {
            return Some(Self::NONE);
        }
        if let Some(first) = text.strip_suffix('+') {
            return Some(Self { first: number(first)?, last: i16::MAX });
        }
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        Some(Self { first: number(first)?, last: number(last)? })
    }

    /// Whether the range contains the version.
    pub fn contains(self, version: i16) -> bool {
        self.first <= version && version <= self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_parsed() {
        assert_eq!(Versions::parse("3").unwrap(), Versions { first: 3, last: 3 });
        assert_eq!(Versions::parse("0-2").unwrap(), Versions { first: 0, last: 2 });
        assert_eq!(Versions::parse("4+").unwrap(), Versions { first: 4, last: i16::MAX });
        let none = Versions::parse("none").unwrap();
        assert!((0..=i16::MAX).all(|version| !none.contains(version)));
    }

    #[test]
    fn other_texts_are_no_ranges() {
        for text in ["", "+", "-", "1-", "-1", "a", "1-b", "32768", "1--2"] {
            assert!(Versions::parse(text).is_none(), "{text:?}");
        }
    }
}
