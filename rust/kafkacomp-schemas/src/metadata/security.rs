//! ACLs, quotas, SCRAM credentials and delegation tokens.

use super::{int, list, text};
use crate::value::{Struct, Value};
use std::borrow::Cow;

/// An entry of an access control list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acl {
    /// The number of the resource's type, which [`Acl::resource_type_name`] names.
    pub resource_type: i8,
    /// The resource's name.
    pub resource_name: String,
    /// The number of the pattern's type.
    pub pattern_type: i8,
    /// The principal, such as `User:alice`.
    pub principal: String,
    /// The host, `*` for all.
    pub host: String,
    /// The number of the operation.
    pub operation: i8,
    /// The number of the permission.
    pub permission_type: i8,
}

/// The entity of a quota: types (`user`, `client-id`, `ip`) and names; no name is the default of its type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct QuotaEntity(pub Vec<(String, Option<String>)>);

/// A user's SCRAM credential. All but the number of iterations is secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScramCredential {
    /// The number of iterations.
    pub iterations: i32,
    /// The salt.
    pub salt: Vec<u8>,
    /// The key by which the broker authenticates the client.
    pub stored_key: Vec<u8>,
    /// The key by which the client authenticates the broker.
    pub server_key: Vec<u8>,
}

/// A delegation token; its HMAC is derived from its id and the brokers' secret key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegationToken {
    /// The owner.
    pub owner: String,
    /// Who requested it.
    pub requester: String,
    /// Who may renew it.
    pub renewers: Vec<String>,
    /// When it was issued, in milliseconds.
    pub issue_timestamp: i64,
    /// Until when it can be renewed, in milliseconds.
    pub max_timestamp: i64,
    /// When it expires, in milliseconds.
    pub expiry_timestamp: i64,
}

/// The name at a number; none if no known version of Kafka has it.
fn name_at(names: &[&'static str], number: i8) -> Option<&'static str> {
    names.get(usize::try_from(number).ok()?).copied()
}

impl Acl {
    pub(super) fn read(value: &Struct<'_>) -> Self {
        let number = |name| int(value, name) as i8;
        Self {
            resource_type: number("resourceType"),
            resource_name: text(value, "resourceName"),
            pattern_type: number("patternType"),
            principal: text(value, "principal"),
            host: text(value, "host"),
            operation: number("operation"),
            permission_type: number("permissionType"),
        }
    }

    /// Kafka's `ResourceType`.
    pub fn resource_type_name(&self) -> Option<&'static str> {
        let names = ["UNKNOWN", "ANY", "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER"];
        name_at(&names, self.resource_type)
    }

    /// Kafka's `PatternType`.
    pub fn pattern_type_name(&self) -> Option<&'static str> {
        name_at(&["UNKNOWN", "ANY", "MATCH", "LITERAL", "PREFIXED"], self.pattern_type)
    }

    /// Kafka's `AclOperation`.
    pub fn operation_name(&self) -> Option<&'static str> {
        let names = [
            "UNKNOWN",
            "ANY",
            "ALL",
            "READ",
            "WRITE",
            "CREATE",
            "DELETE",
            "ALTER",
            "DESCRIBE",
            "CLUSTER_ACTION",
            "DESCRIBE_CONFIGS",
            "ALTER_CONFIGS",
            "IDEMPOTENT_WRITE",
            "CREATE_TOKENS",
            "DESCRIBE_TOKENS",
            "TWO_PHASE_COMMIT",
        ];
        name_at(&names, self.operation)
    }

    /// Kafka's `AclPermissionType`.
    pub fn permission_type_name(&self) -> Option<&'static str> {
        name_at(&["UNKNOWN", "ANY", "DENY", "ALLOW"], self.permission_type)
    }
}

impl QuotaEntity {
    pub(super) fn read(value: &Struct<'_>) -> Self {
        let part = |each: &Value<'_>| {
            let fields = each.fields()?;
            Some((text(fields, "entityType"), fields.text("entityName").map(Cow::into_owned)))
        };
        let mut parts = list(value, "entity", part).unwrap_or_default();
        parts.sort();
        Self(parts)
    }
}

impl ScramCredential {
    /// Kafka's name of a mechanism.
    pub fn mechanism_name(mechanism: i8) -> Option<&'static str> {
        name_at(&["UNKNOWN", "SCRAM-SHA-256", "SCRAM-SHA-512"], mechanism)
    }

    pub(super) fn read(value: &Struct<'_>) -> Self {
        let bytes = |name| match value.get(name).as_deref() {
            Some(Value::Bytes(bytes)) => bytes.to_vec(),
            _ => Vec::new(),
        };
        Self {
            iterations: int(value, "iterations") as i32,
            salt: bytes("salt"),
            stored_key: bytes("storedKey"),
            server_key: bytes("serverKey"),
        }
    }
}

impl DelegationToken {
    pub(super) fn read(value: &Struct<'_>) -> Self {
        Self {
            owner: text(value, "owner"),
            requester: text(value, "requester"),
            renewers: list(value, "renewers", |each| each.text().map(Cow::into_owned)).unwrap_or_default(),
            issue_timestamp: int(value, "issueTimestamp"),
            max_timestamp: int(value, "maxTimestamp"),
            expiry_timestamp: int(value, "expirationTimestamp"),
        }
    }
}
