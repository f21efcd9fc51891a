//! Hides what the metadata log must not tell to everyone who may read a report.

use crate::record::Decoded;
use crate::value::{Struct, Value};

/// What is shown in place of a secret, as in Kafka's own logs.
pub const REDACTED: &str = "(redacted)";

/// Parts of the names of configs with secret values: those of Kafka's type `PASSWORD`, with any prefix of a listener.
const SECRET_CONFIGS: [&str; 7] = [
    "password",
    "secret",
    "sasl.jaas.config",
    "ssl.keystore.key",
    "ssl.keystore.certificate.chain",
    "ssl.truststore.certificates",
    "credential",
];

/// Whether the value of a config is secret, by its name.
pub fn is_secret_config(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_CONFIGS.iter().any(|part| name.contains(part))
}

/// Replaces SCRAM keys and salts, ids of delegation tokens, and the values of secret configs by [`REDACTED`]. The bytes of a value
/// of the metadata log that is not decoded may have any of these, and are removed.
pub fn hide(record: &mut Decoded<'_>, is_of_metadata_log: bool) {
    match record {
        Decoded::Framed { kind, value } => {
            let fields = &mut value.fields;
            match kind.name.as_str() {
                "USER_SCRAM_CREDENTIAL_RECORD" => redact(fields, &["salt", "storedKey", "serverKey"]),
                "DELEGATION_TOKEN_RECORD" | "REMOVE_DELEGATION_TOKEN_RECORD" => redact(fields, &["tokenId"]),
                "CONFIG_RECORD" if fields.text("name").is_some_and(|name| is_secret_config(&name)) => {
                    redact(fields, &["value"]);
                }
                _ => {}
            }
        }
        Decoded::Unknown { key, value, .. } if is_of_metadata_log => {
            *key = None;
            *value = None;
        }
        _ => {}
    }
}

fn redact(fields: &mut Struct<'_>, names: &[&str]) {
    for name in names {
        if let Some(value) = fields.value_mut(name)
            && *value != Value::Null
        {
            *value = Value::Text(REDACTED.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_brokers_and_listeners_are_secret() {
        for name in [
            "ssl.key.password",
            "listener.name.internal.ssl.keystore.key",
            "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config",
            "delegation.token.secret.key",
        ] {
            assert!(is_secret_config(name), "{name}");
        }
        for name in ["retention.ms", "min.insync.replicas", "ssl.keystore.location", "log.cleaner.threads"] {
            assert!(!is_secret_config(name), "{name}");
        }
    }
}
