//! Decoding of strings as in Java.

use std::borrow::Cow;

/// Decodes UTF-8 as Java's `String` does: malformed sequences become U+FFFD. Java replaces the three bytes of an encoded surrogate
/// as one malformed sequence; Rust follows the Unicode standard's recommendation and replaces three.
pub fn decode_utf8(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(chunk) = rest.utf8_chunks().next() {
        text.push_str(chunk.valid());
        let bad = rest.get(chunk.valid().len()..).unwrap_or_default();
        let length = match bad {
            [] => 0,
            [0xed, 0xa0..=0xbf, 0x80..=0xbf, ..] => 3,
            [0xed, 0xa0..=0xbf, ..] => 2,
            _ => chunk.invalid().len(),
        };
        if length > 0 {
            text.push(char::REPLACEMENT_CHARACTER);
        }
        rest = bad.get(length..).unwrap_or_default();
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::decode_utf8;

    #[test]
    fn replaces_as_java_does() {
        assert_eq!(decode_utf8("schlüssel".as_bytes()), "schlüssel");
        assert_eq!(decode_utf8(b"a\xffb"), "a\u{fffd}b");
        assert_eq!(decode_utf8(b"\xed\xa0\x80x"), "\u{fffd}x");
        assert_eq!(decode_utf8(b"\xed\xa0x"), "\u{fffd}x");
        assert_eq!(decode_utf8(b"\xe2\x82"), "\u{fffd}");
        assert_eq!(decode_utf8(b"\xf4\x90\x80\x80"), "\u{fffd}\u{fffd}\u{fffd}\u{fffd}");
        assert_eq!(decode_utf8(b"\xc0\x80"), "\u{fffd}\u{fffd}");
    }
}
