//! Strings as Java decodes them.

use std::borrow::Cow;

/// Decodes UTF-8 as Java's `new String(bytes, UTF_8)`: a malformed sequence becomes U+FFFD.
///
/// Rust does the same but for an encoded surrogate (`ED A0..BF` and a continuation byte), which is one U+FFFD in Java and three in Rust.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let mut left = match std::str::from_utf8(bytes) {
        Ok(text) => return Cow::Borrowed(text),
        Err(_) => bytes,
    };
    let mut decoded = String::with_capacity(bytes.len());
    loop {
        let (valid, rest, malformed) = match std::str::from_utf8(left) {
            Ok(text) => {
                decoded.push_str(text);
                return Cow::Owned(decoded);
            }
            Err(error) => {
                let (valid, rest) = left.split_at_checked(error.valid_up_to()).unwrap_or((left, &[]));
                (valid, rest, error.error_len().unwrap_or(rest.len()))
            }
        };
        decoded.push_str(std::str::from_utf8(valid).unwrap_or_default());
        decoded.push(char::REPLACEMENT_CHARACTER);
        let skipped = match rest {
            [0xed, 0xa0..=0xbf, 0x80..=0xbf, ..] => 3,
            [0xed, 0xa0..=0xbf, ..] => 2,
            _ => malformed,
        };
        left = rest.get(skipped.max(1)..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoded_surrogate_is_one_replacement() {
        assert_eq!(decode(b"a\xed\xa0\x80b"), "a\u{fffd}b");
        assert_eq!(decode(b"\xed\xa0A"), "\u{fffd}A");
        assert_eq!(decode(b"\xed\xa0"), "\u{fffd}");
        assert_eq!(decode(b"\xed\xa0\x80\xed\xb0\x80"), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn other_malformed_sequences_are_as_in_rust() {
        for bytes in
            [&b"\xc0\x80"[..], b"\xe2\x82", b"a\xff\xfeb", b"\xf4\x90\x80\x80", b"\xf0\x9f\x98", b"\xe0\x80\x80"]
        {
            assert_eq!(decode(bytes), String::from_utf8_lossy(bytes), "{bytes:x?}");
        }
        assert!(matches!(decode("é鍵😀".as_bytes()), Cow::Borrowed(_)));
    }
}
