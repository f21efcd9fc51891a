//! The consumer protocol: what members of a classic group with the protocol type `consumer` tell one another.

use crate::fault::Unknown;
use crate::library::Library;
use crate::record::{Decoded, prefixed};
use crate::value::{Message, Struct, Value};
use std::borrow::Cow;

/// What a member of a group subscribed to, and what it was assigned.
#[derive(Debug, Clone, PartialEq)]
pub struct Member<'a> {
    /// The member's id.
    pub id: Cow<'a, str>,
    /// Its subscription.
    pub subscription: Result<Message<'a>, Unknown>,
    /// Its assignment.
    pub assignment: Result<Message<'a>, Unknown>,
}

/// Decodes a subscription. A later version than those known is read as the last known one, as the protocol demands.
pub fn subscription(bytes: &[u8]) -> Result<Message<'_>, Unknown> {
    decode("ConsumerProtocolSubscription", bytes)
}

/// Decodes an assignment. A later version than those known is read as the last known one, as the protocol demands.
pub fn assignment(bytes: &[u8]) -> Result<Message<'_>, Unknown> {
    decode("ConsumerProtocolAssignment", bytes)
}

fn decode<'a>(name: &str, bytes: &'a [u8]) -> Result<Message<'a>, Unknown> {
    let (version, fields) = prefixed(bytes).ok_or(Unknown::NoVersion)?;
    let unknown = || Unknown::Version { kind: name.to_owned(), version: version.into() };
    let schema = Library::kafka().data(name).ok_or_else(unknown)?;
    if version < schema.valid.first {
        return Err(unknown());
    }
    schema.read(fields, version.min(schema.valid.last)).map_err(Unknown::Value)
}

/// The members of a group; none if the record is not a `GroupMetadata` of the protocol type `consumer`.
pub fn members<'a>(record: &Decoded<'a>) -> Option<Vec<Member<'a>>> {
    let Decoded::Keyed { kind, value: Some(value), .. } = record else { return None };
    let is_consumer = || value.fields.text("protocolType").as_deref() == Some("consumer");
    if kind.name != "GroupMetadata" || !is_consumer() {
        return None;
    }
    let members = value.fields.get("members")?;
    Some(members.elements()?.iter().filter_map(Value::fields).map(member).collect())
}

fn member<'a>(fields: &Struct<'a>) -> Member<'a> {
    let bytes = |name| match fields.get(name).as_deref() {
        Some(Value::Bytes(bytes)) => *bytes,
        _ => &[],
    };
    Member {
        id: fields.text("memberId").unwrap_or_default(),
        subscription: subscription(bytes("subscription")),
        assignment: assignment(bytes("assignment")),
    }
}
