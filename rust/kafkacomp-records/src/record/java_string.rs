//! Decoding of strings as in Java.

use std::borrow::Cow;

use crate::memory::OutOfMemory;

/// Decodes UTF-8 as Java's `String` does: malformed sequences become U+FFFD. Java replaces the three bytes of an encoded surrogate
/// as one malformed sequence; Rust follows the Unicode standard's recommendation and replaces three.
///
/// # Errors
/// There is no memory for the copy with the replacements, which is up to three times as long.
pub fn decode_utf8(bytes: &[u8]) -> Result<Cow<'_, str>, OutOfMemory> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(Cow::Borrowed(text));
    }
    let mut text = String::new();
    let mut rest = bytes;
    while let Some(chunk) = rest.utf8_chunks().next() {
        let needed = chunk.valid().len().saturating_add(char::REPLACEMENT_CHARACTER.len_utf8());
        text.try_reserve(needed).map_err(|_| OutOfMemory { bytes: text.len().saturating_add(needed) })?;
        text.push_str(chunk.valid());
        let bad = &rest[chunk.valid().len()..];
        let length = match bad {
            [] => 0,
            [0xed, 0xa0..=0xbf, 0x80..=0xbf, ..] => 3,
            [0xed, 0xa0..=0xbf, ..] => 2,
            _ => chunk.invalid().len(),
        };
        if length > 0 {
            text.push(char::REPLACEMENT_CHARACTER);
        }
        rest = &bad[length..];
    }
    Ok(Cow::Owned(text))
}

#[cfg(test)]
mod tests {
    use super::decode_utf8;

    #[test]
    fn replaces_as_java_does() {
        assert_eq!(decode_utf8("schlüssel".as_bytes()).unwrap(), "schlüssel");
        assert_eq!(decode_utf8(b"a\xffb").unwrap(), "a\u{fffd}b");
        assert_eq!(decode_utf8(b"\xed\xa0\x80x").unwrap(), "\u{fffd}x");
        assert_eq!(decode_utf8(b"\xed\xa0x").unwrap(), "\u{fffd}x");
        assert_eq!(decode_utf8(b"\xe2\x82").unwrap(), "\u{fffd}");
        assert_eq!(decode_utf8(b"\xf4\x90\x80\x80").unwrap(), "\u{fffd}\u{fffd}\u{fffd}\u{fffd}");
        assert_eq!(decode_utf8(b"\xc0\x80").unwrap(), "\u{fffd}\u{fffd}");
    }
}
