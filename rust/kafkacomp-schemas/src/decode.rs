//! Reads a message of any version by its schema.
//!
//! Limits: those of the classes that Kafka 4.4 generates. An array has at most as many elements as bytes are left, and at most
//! 1,000,000; a struct has at most as many tagged fields as bytes are left, and at most 10,000; a string has at most 32,767 bytes.
//! Recursion is bounded by the schema, which has no more than 16 levels.

use crate::fault::{Fault, FaultKind};
use crate::reader::Reader;
use crate::schema::{Field, Schema, StructType, Type};
use crate::value::{Message, Struct, Value};

/// Kafka 4.4's limit on the elements of an array.
const MAX_ELEMENTS: usize = 1_000_000;
/// Kafka 4.4's limit on the tagged fields of a struct.
const MAX_TAGGED_FIELDS: usize = 10_000;
/// Memory that is reserved for the elements of an array before they are read.
const RESERVED_ELEMENTS: usize = 1_000;
/// The limit on strings, which had lengths of 2 bytes before flexible versions.
const MAX_TEXT: i32 = 32_767;

impl Schema {
    /// Reads a message of a version. The caller checks that the version is valid.
    pub fn read<'a>(&'a self, bytes: &'a [u8], version: i16) -> Result<Message<'a>, Fault> {
        let mut reader = Reader::new(bytes);
        let fields = Decoder { version, flexible: self.flexible.contains(version) }.fields(&self.root, &mut reader)?;
        Ok(Message { version, fields, rest: reader.left() })
    }
}

/// What all fields of a message have in common.
#[derive(Clone, Copy)]
struct Decoder {
    version: i16,
    flexible: bool,
}

impl Decoder {
    fn fields<'a>(self, kind: &'a StructType, reader: &mut Reader<'a>) -> Result<Struct<'a>, Fault> {
        let mut fields = Vec::with_capacity(kind.fields.len());
        for field in &kind.fields {
            let is_inline = field.versions.contains(self.version) && !field.tagged.contains(self.version);
            fields.push(if is_inline { Some(self.inline(field, reader)?) } else { None });
        }
        let mut found = Struct { kind, fields, unknown: None };
        if self.flexible {
            self.tagged_fields(&mut found, reader)?;
        }
        Ok(found)
    }

    fn tagged_fields<'a>(self, found: &mut Struct<'a>, reader: &mut Reader<'a>) -> Result<(), Fault> {
        let begin = reader.clone();
        let count = reader.varint("tagged fields")? as i32;
        let count = bounded("tagged fields", count, MAX_TAGGED_FIELDS, &begin, reader)?;
        for _ in 0..count {
            let tag = reader.varint("tag")?;
            let size = reader.varint("tagged field")?;
            let known = found.kind.fields.iter().zip(&mut found.fields).find(|(field, _)| field.tag == Some(tag));
            if let Some((field, place)) = known {
                if !field.tagged.contains(self.version) {
                    let (field, version) = (field.name.clone(), self.version);
                    return Err(reader.fault(FaultKind::Tag { field, tag, version }));
                }
                // As Kafka does, by its type alone: the size is for readers that do not know the tag.
                *place = Some(self.tagged(field, reader)?);
            } else {
                let bytes = reader.take("tagged field", size as usize)?;
                found.unknown.get_or_insert_default().push((tag, bytes));
            }
        }
        Ok(())
    }

    /// A field in the order of the schema. Before a nullable struct is a byte, negative if it is null.
    fn inline<'a>(self, field: &'a Field, reader: &mut Reader<'a>) -> Result<Value<'a>, Fault> {
        let is_nullable = field.nullable.contains(self.version);
        if is_nullable && matches!(field.kind, Type::Struct(_)) && i8::from_be_bytes(reader.fixed(&field.name)?) < 0 {
            return Ok(Value::Null);
        }
        self.value(&field.name, &field.kind, is_nullable, reader)
    }

    /// A tagged field. Before a nullable struct is a varint, 0 (or negative in Java) if it is null.
    fn tagged<'a>(self, field: &'a Field, reader: &mut Reader<'a>) -> Result<Value<'a>, Fault> {
        let is_nullable = field.nullable.contains(self.version);
        if is_nullable && matches!(field.kind, Type::Struct(_)) && reader.varint(&field.name)? as i32 <= 0 {
            return Ok(Value::Null);
        }
        self.value(&field.name, &field.kind, is_nullable, reader)
    }

    fn value<'a>(
        self,
        name: &str,
        kind: &'a Type,
        is_nullable: bool,
        reader: &mut Reader<'a>,
    ) -> Result<Value<'a>, Fault> {
        Ok(match kind {
            Type::Bool => Value::Bool(reader.fixed::<1>(name)? != [0]),
            Type::Int8 => Value::Int8(i8::from_be_bytes(reader.fixed(name)?)),
            Type::Int16 => Value::Int16(i16::from_be_bytes(reader.fixed(name)?)),
            Type::Uint16 => Value::Uint16(u16::from_be_bytes(reader.fixed(name)?)),
            Type::Int32 => Value::Int32(i32::from_be_bytes(reader.fixed(name)?)),
            Type::Uint32 => Value::Uint32(u32::from_be_bytes(reader.fixed(name)?)),
            Type::Int64 => Value::Int64(i64::from_be_bytes(reader.fixed(name)?)),
            Type::Float64 => Value::Float64(f64::from_be_bytes(reader.fixed(name)?)),
            Type::Uuid => Value::Uuid(reader.fixed(name)?),
            Type::Struct(kind) => Value::Struct(self.fields(kind, reader)?),
            Type::Text | Type::Bytes | Type::Array(_) => {
                let begin = reader.clone();
                let length = self.length(name, kind, reader)?;
                if length < 0 && is_nullable {
                    return Ok(Value::Null);
                }
                if length < 0 {
                    let kind = FaultKind::Null { field: name.to_owned(), version: self.version };
                    return Err(begin.fault(kind));
                }
                match kind {
                    Type::Text if length > MAX_TEXT => {
                        return Err(begin.fault(FaultKind::Length { field: name.to_owned(), length }));
                    }
                    Type::Text => Value::Text(reader.take(name, length as usize)?),
                    Type::Array(element) => {
                        let count = bounded(name, length, MAX_ELEMENTS, &begin, reader)?;
                        let mut elements = Vec::with_capacity(count.min(RESERVED_ELEMENTS));
                        for _ in 0..count {
                            elements.push(self.value(name, element, false, reader)?);
                        }
                        Value::Array(elements)
                    }
                    _ => Value::Bytes(reader.take(name, length as usize)?),
                }
            }
        })
    }

    /// The length of a string, of bytes or of an array; negative if it is null.
    fn length(self, name: &str, kind: &Type, reader: &mut Reader<'_>) -> Result<i32, Fault> {
        Ok(match kind {
            _ if self.flexible => (reader.varint(name)? as i32).wrapping_sub(1),
            Type::Text => i16::from_be_bytes(reader.fixed(name)?).into(),
            _ => i32::from_be_bytes(reader.fixed(name)?),
        })
    }
}

/// A count of elements, each of which has at least one byte.
fn bounded(name: &str, count: i32, most: usize, begin: &Reader<'_>, reader: &Reader<'_>) -> Result<usize, Fault> {
    let limit = reader.left().len().min(most);
    usize::try_from(count)
        .ok()
        .filter(|count| *count <= limit)
        .ok_or_else(|| begin.fault(FaultKind::Count { field: name.to_owned(), count, limit }))
}
