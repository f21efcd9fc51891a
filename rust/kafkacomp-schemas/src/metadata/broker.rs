//! Registered brokers.

use super::{Uuid, int, list, text, uuid};
use crate::value::{Struct, Value};
use std::borrow::Cow;

/// A registered broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broker {
    /// The epoch of its registration.
    pub epoch: i64,
    /// The id of the process.
    pub incarnation_id: Uuid,
    /// Its rack.
    pub rack: Option<String>,
    /// Whether it is fenced: it leads no partition and is in no ISR.
    pub is_fenced: bool,
    /// Whether it is about to stop.
    pub in_controlled_shutdown: bool,
    /// Its listeners.
    pub endpoints: Vec<Endpoint>,
    /// Its log directories.
    pub log_dirs: Vec<Uuid>,
}

/// A listener of a broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The listener's name.
    pub name: String,
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
}

fn is_true(value: &Struct<'_>, name: &str) -> bool {
    matches!(value.get(name).as_deref(), Some(Value::Bool(true)))
}

fn log_dirs(value: &Struct<'_>) -> Option<Vec<Uuid>> {
    list(value, "logDirs", |id| if let Value::Uuid(id) = id { Some(*id) } else { None })
}

impl Broker {
    pub(super) fn read(value: &Struct<'_>) -> Self {
        let endpoint = |each: &Value<'_>| {
            let fields = each.fields()?;
            let port = int(fields, "port") as u16;
            Some(Endpoint { name: text(fields, "name"), host: text(fields, "host"), port })
        };
        Self {
            epoch: int(value, "brokerEpoch"),
            incarnation_id: uuid(value, "incarnationId"),
            rack: value.text("rack").map(Cow::into_owned),
            is_fenced: is_true(value, "fenced"),
            in_controlled_shutdown: is_true(value, "inControlledShutdown"),
            endpoints: list(value, "endPoints", endpoint).unwrap_or_default(),
            log_dirs: log_dirs(value).unwrap_or_default(),
        }
    }

    /// Applies a change, in which 1 is true, -1 false and 0 unchanged.
    pub(super) fn change(&mut self, value: &Struct<'_>) {
        let set = |to: &mut bool, name| match value.int(name) {
            Some(1) => *to = true,
            Some(-1) => *to = false,
            _ => {}
        };
        set(&mut self.is_fenced, "fenced");
        set(&mut self.in_controlled_shutdown, "inControlledShutdown");
        if let Some(changed) = log_dirs(value).filter(|dirs| !dirs.is_empty()) {
            self.log_dirs = changed;
        }
    }
}
