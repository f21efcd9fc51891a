//! Message schemas: the JSON files from which Kafka generates its classes.
//!
//! A schema describes all versions of one message. The language is described in the README of Kafka's folder
//! `clients/src/main/resources/common/message`, flexible versions and tagged fields in KIP-482.

use crate::versions::Versions;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::sync::Arc;

/// How deep structs may be nested in a schema. Kafka's deepest has three levels; the limit bounds the recursion of every reader.
const MAX_DEPTH: usize = 16;

/// What is wrong with a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaFault {
    /// The file is not JSON with comments.
    #[error("invalid JSON: {0}")]
    Json(String),
    /// A member is missing or has another type than expected.
    #[error("{0}: missing, or not of the expected type")]
    Member(&'static str),
    /// A range of versions that does not follow the grammar.
    #[error("invalid range of versions {0:?}: expected none, N, N-M or N+")]
    Versions(String),
    /// A type that is neither known nor a struct of the schema.
    #[error("unknown type {0:?}")]
    Type(String),
    /// A default that is not a value of the field's type.
    #[error("{field}: invalid default {default}")]
    Default {
        /// The field.
        field: String,
        /// Its default.
        default: String,
    },
    /// Structs are nested too deep, or contain themselves.
    #[error("structs are nested more than {MAX_DEPTH} deep")]
    Depth,
    /// A field has no versions, is tagged without a tag, or has flexible versions of its own.
    #[error("{0}: expected versions, a tag where there are tagged versions, and the flexible versions of its message")]
    Field(String),
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A key of a coordinator's topic; the record's type is the API key.
    CoordinatorKey,
    /// A value of a coordinator's topic.
    CoordinatorValue,
    /// A value of the metadata log or of `__remote_log_metadata`, which begins with a frame.
    Metadata,
    /// Other data: values of control records, the consumer protocol.
    Data,
}

/// All versions of one message.
#[derive(Debug)]
pub struct Schema {
    /// Its name, such as `OffsetCommitValue`.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The record's type, where records have one.
    pub api_key: Option<i16>,
    /// The versions that exist.
    pub valid: Versions,
    /// The versions with compact types and tagged fields.
    pub flexible: Versions,
    /// Its fields.
    pub root: Arc<StructType>,
}

/// The fields of a message or of a struct in one.
#[derive(Debug)]
pub struct StructType {
    /// Its name.
    pub name: String,
    /// Its fields, in the order of the schema.
    pub fields: Vec<Field>,
}

/// A field of a struct.
#[derive(Debug)]
pub struct Field {
    /// Its name as in JSON: the first letter is small.
    pub name: String,
    /// Its type.
    pub kind: Type,
    /// The versions that have the field.
    pub versions: Versions,
    /// The versions in which it may be null.
    pub nullable: Versions,
    /// The versions in which it is a tagged field.
    pub tagged: Versions,
    /// Its tag.
    pub tag: Option<u32>,
    /// Its value where it is absent.
    pub default: Default,
}

/// The type of a field.
#[derive(Debug, Clone)]
pub enum Type {
    /// A byte; every value but 0 is true.
    Bool,
    /// Signed, 1 byte.
    Int8,
    /// Signed, 2 bytes, big endian, as all numbers.
    Int16,
    /// Unsigned, 2 bytes.
    Uint16,
    /// Signed, 4 bytes.
    Int32,
    /// Unsigned, 4 bytes.
    Uint32,
    /// Signed, 8 bytes.
    Int64,
    /// IEEE 754, 8 bytes.
    Float64,
    /// 16 bytes.
    Uuid,
    /// UTF-8, at most 32,767 bytes.
    Text,
    /// Any bytes.
    Bytes,
    /// Elements of one type.
    Array(Arc<Type>),
    /// A struct.
    Struct(Arc<StructType>),
}

/// The value of a field that is absent.
#[derive(Debug, Clone, PartialEq)]
pub enum Default {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer of any width.
    Int(i64),
    /// A float.
    Float(f64),
    /// A string.
    Text(String),
    /// A UUID of zeros, no bytes, no elements, or a struct of defaults.
    Empty,
}

impl Schema {
    /// Parses a schema. Comments (`//` to the end of the line) are allowed.
    pub fn parse(text: &str) -> Result<Self, SchemaFault> {
        let json: Json =
            serde_json::from_str(&without_comments(text)).map_err(|error| SchemaFault::Json(error.to_string()))?;
        let mut structs = Structs { common: HashMap::new() };
        for each in list(&json, "commonStructs") {
            structs.common.insert(text_of(each, "name")?, each);
        }
        let name = text_of(&json, "name")?;
        Ok(Self {
            kind: match text_of(&json, "type")? {
                "coordinator-key" => Kind::CoordinatorKey,
                "coordinator-value" => Kind::CoordinatorValue,
                "metadata" => Kind::Metadata,
                "data" => Kind::Data,
                other => return Err(SchemaFault::Type(other.to_owned())),
            },
            api_key: match json.get("apiKey") {
                None => None,
                Some(key) => {
                    Some(key.as_i64().and_then(|key| key.try_into().ok()).ok_or(SchemaFault::Member("apiKey"))?)
                }
            },
            valid: versions_of(&json, "validVersions")?,
            flexible: versions_of(&json, "flexibleVersions")?,
            root: structs.parse(name, &json, 0)?,
            name: name.to_owned(),
        })
    }
}

impl StructType {
    /// The position of a field.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }
}

/// The structs that several fields of a schema share.
struct Structs<'a> {
    common: HashMap<&'a str, &'a Json>,
}

impl<'a> Structs<'a> {
    /// The struct whose fields the object has.
    fn parse(&self, name: &str, json: &'a Json, depth: usize) -> Result<Arc<StructType>, SchemaFault> {
        if depth >= MAX_DEPTH {
            return Err(SchemaFault::Depth);
        }
        let fields = list(json, "fields").map(|field| self.field(field, depth)).collect::<Result<_, _>>()?;
        Ok(Arc::new(StructType { name: name.to_owned(), fields }))
    }

    fn field(&self, json: &'a Json, depth: usize) -> Result<Field, SchemaFault> {
        let name = text_of(json, "name")?;
        let versions = |key| json.get(key).map(|_| versions_of(json, key)).transpose();
        let tagged = versions("taggedVersions")?;
        let tag = json.get("tag").and_then(Json::as_u64).and_then(|tag| tag.try_into().ok());
        // A field with flexible versions of its own exists in headers of requests only.
        if tagged.is_some() != tag.is_some() || json.get("flexibleVersions").is_some() {
            return Err(SchemaFault::Field(name.to_owned()));
        }
        let kind = self.kind(text_of(json, "type")?, json, depth)?;
        Ok(Field {
            default: default_of(name, &kind, json.get("default"))?,
            kind,
            // A field may have tagged versions only.
            versions: versions("versions")?.or(tagged).ok_or_else(|| SchemaFault::Field(name.to_owned()))?,
            nullable: versions("nullableVersions")?.unwrap_or(Versions::NONE),
            tagged: tagged.unwrap_or(Versions::NONE),
            tag,
            name: with_small_letter(name),
        })
    }

    fn kind(&self, name: &str, json: &'a Json, depth: usize) -> Result<Type, SchemaFault> {
        Ok(match name {
            "bool" => Type::Bool,
            "int8" => Type::Int8,
            "int16" => Type::Int16,
            "uint16" => Type::Uint16,
            "int32" => Type::Int32,
            "uint32" => Type::Uint32,
            "int64" => Type::Int64,
            "float64" => Type::Float64,
            "uuid" => Type::Uuid,
            "string" => Type::Text,
            "bytes" => Type::Bytes,
            _ => match name.strip_prefix("[]") {
                Some(element) if !element.starts_with("[]") => Type::Array(Arc::new(self.kind(element, json, depth)?)),
                Some(_) => return Err(SchemaFault::Type(name.to_owned())),
                None => {
                    let own = json.get("fields").map(|_| json);
                    let found = own.or_else(|| self.common.get(name).copied());
                    let found = found.ok_or_else(|| SchemaFault::Type(name.to_owned()))?;
                    Type::Struct(self.parse(name, found, depth.saturating_add(1))?)
                }
            },
        })
    }
}

/// The default of a field. The word `"null"` is null; the JSON literal `null` means that no default is written.
fn default_of(field: &str, kind: &Type, written: Option<&Json>) -> Result<Default, SchemaFault> {
    let written = match written {
        None | Some(Json::Null) => String::new(),
        Some(Json::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let invalid = || SchemaFault::Default { field: field.to_owned(), default: written.clone() };
    Ok(match (kind, written.as_str()) {
        (Type::Struct(_) | Type::Uuid | Type::Bytes | Type::Array(_), "") => Default::Empty,
        (Type::Struct(_) | Type::Text | Type::Bytes | Type::Array(_), "null") => Default::Null,
        (Type::Text, text) => Default::Text(text.to_owned()),
        (Type::Bool, "" | "false") => Default::Bool(false),
        (Type::Bool, "true") => Default::Bool(true),
        (Type::Float64, "") => Default::Float(0.0),
        (Type::Float64, text) => Default::Float(text.parse().map_err(|_| invalid())?),
        (Type::Int8 | Type::Int16 | Type::Uint16 | Type::Int32 | Type::Uint32 | Type::Int64, "") => Default::Int(0),
        (Type::Int8 | Type::Int16 | Type::Uint16 | Type::Int32 | Type::Uint32 | Type::Int64, text) => {
            Default::Int(text.parse().map_err(|_| invalid())?)
        }
        _ => return Err(invalid()),
    })
}

/// A member that is an array; no elements where it is absent.
fn list<'a>(json: &'a Json, key: &str) -> impl Iterator<Item = &'a Json> + use<'a> {
    json.get(key).and_then(Json::as_array).into_iter().flatten()
}

fn text_of<'a>(json: &'a Json, key: &'static str) -> Result<&'a str, SchemaFault> {
    json.get(key).and_then(Json::as_str).ok_or(SchemaFault::Member(key))
}

fn versions_of(json: &Json, key: &'static str) -> Result<Versions, SchemaFault> {
    let text = text_of(json, key)?;
    Versions::parse(text).ok_or_else(|| SchemaFault::Versions(text.to_owned()))
}

fn with_small_letter(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// The text without comments; `//` inside a string is no comment.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let (mut in_string, mut in_comment) = (false, false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\n' => in_comment = false,
            _ if in_comment => continue,
            '"' => in_string = !in_string,
            '\\' if in_string => {
                kept.push(letter);
                kept.extend(letters.next());
                continue;
            }
            '/' if !in_string && letters.peek() == Some(&'/') => {
                in_comment = true;
                continue;
            }
            _ => {}
        }
        kept.push(letter);
    }
    kept
}
