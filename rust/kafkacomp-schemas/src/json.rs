//! JSON as Kafka's generated `JsonConverter` classes and Jackson print it.
//!
//! Bytes are base64, UUIDs base64url without padding. Tagged fields that have their default are left out.

use crate::consumer_protocol::{Member, members};
use crate::fault::Unknown;
use crate::record::Decoded;
use crate::value::{Message, Struct, Value};
use std::fmt::Write;

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Where a record was, and in which batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// Its offset.
    pub offset: i64,
    /// Its timestamp in milliseconds.
    pub timestamp: i64,
    /// The batch's producer; none in message formats 0 and 1.
    pub producer: Option<Producer>,
}

/// The producer of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Producer {
    /// Its id; -1 if it has none.
    pub id: i64,
    /// Its epoch.
    pub epoch: i16,
    /// Whether the batch is part of a transaction.
    pub is_transactional: bool,
}

/// A record as one object without line breaks.
pub fn line(origin: Origin, record: &Decoded<'_>) -> String {
    let mut out = Out(String::new());
    out.put(format_args!("{{\"offset\":{},\"timestamp\":{}", origin.offset, origin.timestamp));
    if let Some(Producer { id, epoch, is_transactional }) = origin.producer {
        out.put(format_args!(",\"producerId\":{id},\"producerEpoch\":{epoch},\"transactional\":{is_transactional}"));
    }
    match record {
        Decoded::Keyed { kind, key, value } => {
            out.put(format_args!(",\"keyType\":{},\"type\":", kind.id));
            out.text(&kind.name);
            out.0.push_str(",\"key\":");
            out.fields(&key.fields);
            out.message("valueVersion", "value", value.as_ref());
        }
        Decoded::Framed { kind, value } => {
            out.put(format_args!(",\"apiKey\":{},\"type\":", kind.id));
            out.text(&kind.name);
            out.message("valueVersion", "value", Some(value));
        }
        Decoded::Control { id, name, key_version, value } => {
            let numbers = format_args!(",\"controlType\":{id},\"controlKeyVersion\":{key_version}");
            out.put(format_args!(",\"control\":\"{name}\"{numbers}"));
            out.message("valueVersion", "value", Some(value));
        }
        Decoded::Unknown { key, value, reason } => out.unknown(*key, *value, reason),
    }
    if let Some(members) = members(record) {
        out.0.push_str(",\"consumerProtocol\":");
        out.list(&members, |out, member| out.member(member));
    }
    out.0.push('}');
    out.0
}

/// A decoded struct as an object.
pub fn object(fields: &Struct<'_>) -> String {
    let mut out = Out(String::new());
    out.fields(fields);
    out.0
}

struct Out(String);

impl Out {
    /// Writing to a string does not fail.
    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = self.0.write_fmt(text);
    }

    fn message(&mut self, version: &str, value: &str, message: Option<&Message<'_>>) {
        if let Some(message) = message {
            self.put(format_args!(",\"{version}\":{},\"{value}\":", message.version));
            self.fields(&message.fields);
        } else {
            self.put(format_args!(",\"{version}\":null,\"{value}\":null"));
        }
    }

    fn member(&mut self, member: &Member<'_>) {
        self.0.push_str("{\"memberId\":");
        self.text(&member.id);
        self.message("subscriptionVersion", "subscription", member.subscription.as_ref().ok());
        self.message("assignmentVersion", "assignment", member.assignment.as_ref().ok());
        self.0.push('}');
    }

    fn unknown(&mut self, key: Option<&[u8]>, value: Option<&[u8]>, reason: &Unknown) {
        self.0.push_str(",\"error\":");
        self.text(&reason.to_string());
        for (name, bytes) in [("keyHex", key), ("valueHex", value)] {
            self.put(format_args!(",\"{name}\":"));
            if let Some(bytes) = bytes {
                self.0.push('"');
                for byte in bytes {
                    self.put(format_args!("{byte:02x}"));
                }
                self.0.push('"');
            } else {
                self.0.push_str("null");
            }
        }
    }

    fn fields(&mut self, fields: &Struct<'_>) {
        self.0.push('{');
        let mut separator = "";
        for (field, value) in fields.present() {
            if field.tag.is_some() && field.is_default(value) {
                continue;
            }
            self.put(format_args!("{separator}\"{}\":", field.name));
            self.value(value);
            separator = ",";
        }
        self.0.push('}');
    }

    fn list<T>(&mut self, elements: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.0.push('[');
        for (number, element) in elements.iter().enumerate() {
            if number > 0 {
                self.0.push(',');
            }
            each(self, element);
        }
        self.0.push(']');
    }

    fn value(&mut self, value: &Value<'_>) {
        match value {
            Value::Null => self.0.push_str("null"),
            Value::Bool(value) => self.put(format_args!("{value}")),
            Value::Int8(value) => self.put(format_args!("{value}")),
            Value::Int16(value) => self.put(format_args!("{value}")),
            Value::Uint16(value) => self.put(format_args!("{value}")),
            Value::Int32(value) => self.put(format_args!("{value}")),
            Value::Uint32(value) => self.put(format_args!("{value}")),
            Value::Int64(value) => self.put(format_args!("{value}")),
            Value::Float64(value) => self.float(*value),
            Value::Uuid(bytes) => self.put(format_args!("\"{}\"", uuid(bytes))),
            Value::Text(_) => self.text(&value.text().unwrap_or_default()),
            Value::Bytes(bytes) => {
                let text = base64(bytes);
                self.put(format_args!("\"{text:=<0$}\"", text.len().next_multiple_of(4)));
            }
            Value::Array(elements) => self.list(elements, Self::value),
            Value::Struct(fields) => self.fields(fields),
        }
    }

    /// A string as Jackson escapes it.
    fn text(&mut self, text: &str) {
        self.0.push('"');
        for letter in text.chars() {
            match letter {
                '"' => self.0.push_str("\\\""),
                '\\' => self.0.push_str("\\\\"),
                '\u{8}' => self.0.push_str("\\b"),
                '\t' => self.0.push_str("\\t"),
                '\n' => self.0.push_str("\\n"),
                '\u{c}' => self.0.push_str("\\f"),
                '\r' => self.0.push_str("\\r"),
                '\0'..='\u{1f}' => self.put(format_args!("\\u{:04X}", letter as u32)),
                _ => self.0.push(letter),
            }
        }
        self.0.push('"');
    }

    /// A float as Java's `Double.toString` prints it from version 19 on: the fewest digits that are exact, but two at least; an
    /// exponent below 0.001 and from 10,000,000 on. What is not a number is a string, as Jackson writes it.
    fn float(&mut self, value: f64) {
        let size = value.abs();
        if value.is_nan() {
            self.0.push_str("\"NaN\"");
        } else if value.is_infinite() {
            self.0.push_str(if value > 0.0 { "\"Infinity\"" } else { "\"-Infinity\"" });
        } else if size == 0.0 || (1e-3..1e7).contains(&size) {
            self.put(format_args!("{value:?}"));
        } else {
            let shortest = format!("{value:E}");
            if shortest.contains('.') { self.0.push_str(&shortest) } else { self.put(format_args!("{value:.1E}")) }
        }
    }
}

/// A UUID as Kafka prints it.
pub fn uuid(bytes: &[u8; 16]) -> String {
    base64(bytes).replace('+', "-").replace('/', "_")
}

/// Base64 without padding.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3).saturating_mul(4));
    for group in bytes.chunks(3) {
        let number = group.iter().zip([16, 8, 0]).fold(0, |number, (byte, shift)| number | u32::from(*byte) << shift);
        let letters = [18, 12, 6, 0].map(|shift| BASE64.get(number as usize >> shift & 63).copied().unwrap_or(b'A'));
        text.extend(letters.iter().take(group.len().saturating_add(1)).map(|letter| char::from(*letter)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_as_in_java() {
        let text = |value| {
            let mut out = Out(String::new());
            out.float(value);
            out.0
        };
        let known = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (12.5, "12.5"),
            (0.001, "0.001"),
            (0.000_99, "9.9E-4"),
            (9_999_999.5, "9999999.5"),
            (1e7, "1.0E7"),
            (1_048_576.0, "1048576.0"),
            (-2.5e-10, "-2.5E-10"),
            (1e23, "1.0E23"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::from_bits(1), "4.9E-324"),
            (f64::NAN, "\"NaN\""),
            (f64::NEG_INFINITY, "\"-Infinity\""),
        ];
        for (value, expected) in known {
            assert_eq!(text(value), expected);
        }
    }

    #[test]
    fn bytes_are_base64() {
        let text = |bytes| {
            let mut out = Out(String::new());
            out.value(&Value::Bytes(bytes));
            out.0
        };
        assert_eq!(text(b""), "\"\"");
        assert_eq!(text(b"f"), "\"Zg==\"");
        assert_eq!(text(b"fo"), "\"Zm8=\"");
        assert_eq!(text(b"foo"), "\"Zm9v\"");
        assert_eq!(text(b"\xfb\xff"), "\"+/8=\"");
        assert_eq!(uuid(&[0xff; 16]), "_____________________w");
    }

    #[test]
    fn strings_are_escaped_as_jackson_does() {
        let mut out = Out(String::new());
        out.text("\0\u{1f}\"\\/\u{8}\t\n\u{c}\r\u{7f}\u{2028}é😀");
        assert_eq!(out.0, "\"\\u0000\\u001F\\\"\\\\/\\b\\t\\n\\f\\r\u{7f}\u{2028}é😀\"");
    }
}
