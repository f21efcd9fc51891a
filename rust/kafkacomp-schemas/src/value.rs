//! Decoded values: a tree that refers to the bytes it was read from.

use crate::schema::{Default, Field, StructType};
use crate::text;
use std::borrow::Cow;

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// Null.
    Null,
    /// `bool`
    Bool(bool),
    /// `int8`
    Int8(i8),
    /// `int16`
    Int16(i16),
    /// `uint16`
    Uint16(u16),
    /// `int32`
    Int32(i32),
    /// `uint32`
    Uint32(u32),
    /// `int64`
    Int64(i64),
    /// `float64`
    Float64(f64),
    /// `uuid`
    Uuid([u8; 16]),
    /// `string`: the bytes, which are not always UTF-8; [`Value::text`] decodes them.
    Text(&'a [u8]),
    /// `bytes`
    Bytes(&'a [u8]),
    /// `[]`
    Array(Vec<Self>),
    /// A struct.
    Struct(Struct<'a>),
}

/// A decoded struct.
#[derive(Debug, Clone)]
pub struct Struct<'a> {
    pub(crate) kind: &'a StructType,
    /// A value for each field of the schema; none where the bytes have none.
    pub(crate) fields: Vec<Option<Value<'a>>>,
    /// Boxed, because it is there in one record of thousands.
    pub(crate) unknown: Option<Box<TaggedFields<'a>>>,
}

/// Tags and the bytes of their fields.
pub(crate) type TaggedFields<'a> = Vec<(u32, &'a [u8])>;

/// A message, and the bytes after its end, which Kafka's coordinators ignore.
#[derive(Debug, Clone, PartialEq)]
pub struct Message<'a> {
    /// Its version.
    pub version: i16,
    /// Its fields.
    pub fields: Struct<'a>,
    /// The bytes after its end.
    pub rest: &'a [u8],
}

impl<'a> Value<'a> {
    /// An integer of any width.
    pub fn int(&self) -> Option<i64> {
        match *self {
            Self::Int8(value) => Some(value.into()),
            Self::Int16(value) => Some(value.into()),
            Self::Uint16(value) => Some(value.into()),
            Self::Int32(value) => Some(value.into()),
            Self::Uint32(value) => Some(value.into()),
            Self::Int64(value) => Some(value),
            _ => None,
        }
    }

    /// A string, decoded as Java does: a malformed sequence becomes U+FFFD.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        match *self {
            Self::Text(bytes) => Some(text::decode(bytes)),
            _ => None,
        }
    }

    /// The elements of an array.
    pub fn elements(&self) -> Option<&[Self]> {
        match self {
            Self::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// A struct.
    pub fn fields(&self) -> Option<&Struct<'a>> {
        match self {
            Self::Struct(fields) => Some(fields),
            _ => None,
        }
    }
}

impl<'a> Struct<'a> {
    /// The value of a field; its default if the bytes have none, none if the schema has no such field.
    pub fn get(&self, name: &str) -> Option<Cow<'_, Value<'a>>> {
        let position = self.kind.position(name)?;
        match self.fields.get(position) {
            Some(Some(value)) => Some(Cow::Borrowed(value)),
            _ => self.kind.fields.get(position).map(|field| Cow::Owned(field.default_value())),
        }
    }

    /// The value that the bytes have of a field.
    pub(crate) fn value_mut(&mut self, name: &str) -> Option<&mut Value<'a>> {
        self.fields.get_mut(self.kind.position(name)?)?.as_mut()
    }

    /// The string of a field; none if it is null or the schema has no such string.
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name)?.text()
    }

    /// The integer of a field of any width.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.get(name)?.int()
    }

    /// The name of the struct's type.
    pub fn name(&self) -> &'a str {
        &self.kind.name
    }

    /// The fields that the bytes have, in the order of the schema.
    pub fn present(&self) -> impl Iterator<Item = (&'a Field, &Value<'a>)> {
        let kind = self.kind;
        kind.fields.iter().zip(&self.fields).filter_map(|(field, value)| Some((field, value.as_ref()?)))
    }

    /// Tagged fields that the schema does not have: tag and bytes.
    pub fn unknown_tagged_fields(&self) -> &[(u32, &'a [u8])] {
        self.unknown.as_deref().map_or(&[], Vec::as_slice)
    }

    /// Whether every field has its default, and there are no unknown tagged fields.
    fn is_default(&self) -> bool {
        self.unknown_tagged_fields().is_empty() && self.present().all(|(field, value)| field.is_default(value))
    }
}

/// Equal if all fields are, where an absent field has its default.
impl PartialEq for Struct<'_> {
    fn eq(&self, other: &Self) -> bool {
        let fields = &self.kind.fields;
        let equal = |field: &Field| self.get(&field.name) == other.get(&field.name);
        self.name() == other.name()
            && self.unknown_tagged_fields() == other.unknown_tagged_fields()
            && fields.iter().all(equal)
    }
}

impl Field {
    /// The value of the field where it is absent.
    pub fn default_value(&self) -> Value<'_> {
        use crate::schema::Type;
        match (&self.default, &self.kind) {
            (Default::Null, _) => Value::Null,
            (Default::Bool(value), _) => Value::Bool(*value),
            (Default::Float(value), _) => Value::Float64(*value),
            (Default::Text(text), _) => Value::Text(text.as_bytes()),
            (Default::Int(value), Type::Int8) => Value::Int8(*value as i8),
            (Default::Int(value), Type::Int16) => Value::Int16(*value as i16),
            (Default::Int(value), Type::Uint16) => Value::Uint16(*value as u16),
            (Default::Int(value), Type::Int32) => Value::Int32(*value as i32),
            (Default::Int(value), Type::Uint32) => Value::Uint32(*value as u32),
            (Default::Int(value), _) => Value::Int64(*value),
            (Default::Empty, Type::Uuid) => Value::Uuid([0; 16]),
            (Default::Empty, Type::Array(_)) => Value::Array(Vec::new()),
            (Default::Empty, Type::Struct(kind)) => Value::Struct(Struct { kind, fields: Vec::new(), unknown: None }),
            (Default::Empty, _) => Value::Bytes(&[]),
        }
    }

    /// Whether the value is the default, as Kafka's generated classes decide it.
    pub fn is_default(&self, value: &Value<'_>) -> bool {
        match (&self.default, value) {
            (Default::Empty, Value::Struct(fields)) => fields.is_default(),
            _ => self.default_value() == *value,
        }
    }
}
