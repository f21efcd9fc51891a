//! Kafka's `Uuid`: topic ids and directory ids. Sixteen bytes; as text the URL-safe base64 of them
//! (RFC 4648 section 5) without padding, 22 characters.

use std::fmt;

/// The characters of URL-safe base64 in the order of their values.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Bytes of an id.
const LENGTH: usize = 16;
/// The length of the text form in characters of six bits each. Four bits of the last one are unused.
const TEXT_LENGTH: usize = 22;

/// A topic's or a log directory's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Uuid(pub [u8; LENGTH]);

impl Uuid {
    /// The reserved id that Kafka writes if there is no id yet.
    pub const ZERO: Self = Self([0; LENGTH]);

    /// Parses the text form of an id, with or without padding; `None` if it is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_suffix("==").unwrap_or(text);
        if text.len() != TEXT_LENGTH {
            return None;
        }
        let mut id = [0u8; LENGTH];
        let mut filled = id.iter_mut();
        let (mut bits, mut held) = (0u32, 0u32);
        for character in text.bytes() {
            let value = ALPHABET.iter().position(|&known| known == character)?;
            bits = (bits << 6) | u32::try_from(value).ok()?;
            held += 6;
            if held >= 8 {
                held -= 8;
                *filled.next()? = (bits >> held) as u8;
                bits &= (1 << held) - 1;
            }
        }
        Some(Self(id))
    }

    /// Parses the id of a topic; `None` if it is invalid or [`ZERO`](Self::ZERO), which no topic has.
    pub fn parse_topic_id(text: &str) -> Option<Self> {
        Self::parse(text).filter(|id| *id != Self::ZERO)
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for triple in self.0.chunks(3) {
            let mut bits = 0u32;
            for index in 0..3 {
                // Base64 pads the last group with zeros.
                bits = (bits << 8) | u32::from(triple.get(index).copied().unwrap_or(0));
            }
            for index in 0..=triple.len() {
                let value = (bits >> (18 - 6 * index)) & 0x3f;
                let character = ALPHABET.get(value as usize).copied().unwrap_or(b'?');
                fmt::Write::write_char(f, char::from(character))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Uuid;
    use proptest::prelude::*;

    #[test]
    fn the_ids_that_kafka_reserves() {
        assert_eq!(Uuid::ZERO.to_string(), "AAAAAAAAAAAAAAAAAAAAAA");
        let mut metadata_topic = [0; 16];
        metadata_topic[15] = 1;
        assert_eq!(Uuid(metadata_topic).to_string(), "AAAAAAAAAAAAAAAAAAAAAQ");
    }

    #[test]
    fn what_is_no_id() {
        for text in
            ["", "AAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAA+/", "AAAAAAAAAAAAAAAAAAAAé"]
        {
            assert_eq!(Uuid::parse(text), None, "{text}");
        }
        assert_eq!(Uuid::parse("AAAAAAAAAAAAAAAAAAAAAA=="), Some(Uuid::ZERO));
    }

    proptest! {
        #[test]
        fn text_and_back(bytes: [u8; 16]) {
            let text = Uuid(bytes).to_string();
            prop_assert_eq!(text.len(), 22);
            prop_assert_eq!(Uuid::parse(&text), Some(Uuid(bytes)));
        }

        #[test]
        fn any_text(text in "\\PC{0,30}") {
            let _ = Uuid::parse(&text);
        }
    }
}
