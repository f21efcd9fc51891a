//! The metadata of the cluster: replayed from a snapshot and from the log after its end.

use crate::as_of::{AsOf, Past};
use crate::query::{Query, Table, View};
use crate::row::Row;
use crate::table::{Cell, ColumnOf, Kind, Rows, failed, ints, time};
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use kafkacomp_arrow::{Partition, ScanError, ScanReport};
use kafkacomp_schemas::json::uuid;
use kafkacomp_schemas::metadata::{Image, Metadata, ScramCredential, TOPIC_RESOURCE, Uuid};
use kafkacomp_schemas::secrets::{REDACTED, is_secret_config};
use kafkacomp_schemas::{Decoded, Topic};
use std::io;
use std::sync::Arc;

/// How the names of snapshots end.
pub(crate) const SNAPSHOT: &str = ".checkpoint";
/// The name of the default of a quota's entity, as Kafka's tools print it.
const DEFAULT_ENTITY: &str = "<default>";

/// The columns of a view of the cluster.
pub(crate) fn columns(view: View) -> &'static [ColumnOf] {
    match view {
        View::Partitions => &[
            ("topic", Kind::Text),
            ("topicId", Kind::Text),
            ("partition", Kind::Int32),
            ("leader", Kind::Int32),
            ("leaderEpoch", Kind::Int32),
            ("partitionEpoch", Kind::Int32),
            ("replicas", Kind::Ints),
            ("isr", Kind::Ints),
            ("addingReplicas", Kind::Ints),
            ("removingReplicas", Kind::Ints),
            ("elr", Kind::Ints),
            ("lastKnownElr", Kind::Ints),
            ("directories", Kind::Texts),
        ],
        View::Brokers => &[
            ("brokerId", Kind::Int32),
            ("epoch", Kind::Int64),
            ("incarnationId", Kind::Text),
            ("rack", Kind::Text),
            ("isFenced", Kind::Bool),
            ("inControlledShutdown", Kind::Bool),
            ("endpoints", Kind::Texts),
            ("logDirs", Kind::Texts),
        ],
        View::Features => &[("name", Kind::Text), ("level", Kind::Int16)],
        View::Configs => &[
            ("resourceType", Kind::Text),
            ("resourceName", Kind::Text),
            ("name", Kind::Text),
            ("value", Kind::Text),
            ("isSecret", Kind::Bool),
        ],
        View::Acls => &[
            ("id", Kind::Text),
            ("resourceType", Kind::Text),
            ("resourceName", Kind::Text),
            ("patternType", Kind::Text),
            ("principal", Kind::Text),
            ("host", Kind::Text),
            ("operation", Kind::Text),
            ("permissionType", Kind::Text),
        ],
        View::Quotas => &[
            ("user", Kind::Text),
            ("clientId", Kind::Text),
            ("ip", Kind::Text),
            ("quota", Kind::Text),
            ("value", Kind::Float),
        ],
        View::Users => &[
            ("user", Kind::Text),
            ("mechanism", Kind::Text),
            ("iterations", Kind::Int32),
            ("salt", Kind::Bytes),
            ("storedKey", Kind::Bytes),
            ("serverKey", Kind::Bytes),
        ],
        View::DelegationTokens => &[
            ("tokenId", Kind::Text),
            ("owner", Kind::Text),
            ("requester", Kind::Text),
            ("renewers", Kind::Texts),
            ("issueTimestamp", Kind::Time),
            ("maxTimestamp", Kind::Time),
            ("expiryTimestamp", Kind::Time),
        ],
        // The others are no views of the cluster.
        View::Topics | View::Log | View::State => &[
            ("topic", Kind::Text),
            ("topicId", Kind::Text),
            ("partitions", Kind::Int32),
            ("replicationFactor", Kind::Int32),
            ("configs", Kind::Texts),
        ],
    }
}

/// A snapshot of the metadata.
#[derive(Debug)]
struct Snapshot {
    name: String,
    /// The offset of the log that it stands for: all records below it are in it.
    end: i64,
    /// The timestamp of the last of them.
    timestamp: i64,
    metadata: Metadata,
    /// Whether its last record is there.
    is_complete: bool,
}

/// Builds the image of the cluster.
#[derive(Debug)]
pub(crate) struct Cluster {
    query: Query,
    snapshots: Vec<Snapshot>,
    /// The state so far, once a record of the log was read, and the offset from which on records are applied.
    replay: Option<(Metadata, i64)>,
    past: Past,
    /// The segment that errors name.
    log: Arc<str>,
}

impl Cluster {
    pub(crate) fn new(query: Query, partitions: &[Partition]) -> Self {
        let log = partitions.last().and_then(|each| each.segments.first()).map(|segment| Arc::clone(&segment.name));
        Self {
            query,
            snapshots: Vec::new(),
            replay: None,
            past: Past::new(query.as_of, None),
            log: log.unwrap_or_else(|| Table::ClusterMetadata.topic().name().into()),
        }
    }

    /// Applies a record of a snapshot or of the log.
    pub(crate) fn add(&mut self, row: &Row<'_>) -> Result<(), ScanError> {
        if row.topic.ends_with(SNAPSHOT) {
            self.add_to_snapshot(row);
            return Ok(());
        }
        if self.replay.is_none() {
            self.replay = Some(self.base(Some(row.origin.offset))?);
        }
        let Some((metadata, first)) = &mut self.replay else { return Ok(()) };
        if self.past.counts(row.at(), None) && row.origin.offset >= *first {
            metadata.apply(&row.decode(Topic::ClusterMetadata));
        }
        Ok(())
    }

    fn add_to_snapshot(&mut self, row: &Row<'_>) {
        if self.snapshots.last().is_none_or(|last| last.name != row.topic) {
            let end = row.topic.get(..20).and_then(|digits| digits.parse().ok()).unwrap_or(0);
            let (name, metadata) = (row.topic.to_owned(), Metadata::default());
            self.snapshots.push(Snapshot { name, end, timestamp: -1, metadata, is_complete: false });
        }
        let Some(snapshot) = self.snapshots.last_mut() else { return };
        match row.decode(Topic::ClusterMetadata) {
            Decoded::Control { name: "SNAPSHOT_HEADER", value, .. } => {
                snapshot.timestamp = value.fields.int("lastContainedLogTimestamp").unwrap_or(-1);
            }
            Decoded::Control { name: "SNAPSHOT_FOOTER", .. } => snapshot.is_complete = true,
            record => snapshot.metadata.apply(&record),
        }
    }

    /// The state from which the log is replayed: that of the newest complete snapshot which is not after the point in question.
    fn base(&mut self, log_begin: Option<i64>) -> Result<(Metadata, i64), ScanError> {
        let as_of = self.query.as_of;
        let is_before = |snapshot: &Snapshot| match as_of {
            None => true,
            Some(AsOf::Time(time)) => snapshot.timestamp <= time,
            Some(AsOf::Offset(offset)) => snapshot.end <= offset,
        };
        // Of offset 0 is the one with which the log was formatted: it has no state.
        let snapshots = std::mem::take(&mut self.snapshots).into_iter();
        let usable = snapshots.filter(|each| each.is_complete && each.end > 0 && is_before(each));
        let newest = usable.max_by_key(|each| each.end).map(|each| (each.metadata, each.end));
        match (newest, log_begin) {
            (Some(base), begin) if begin.is_none_or(|begin| begin <= base.1) => Ok(base),
            (None, Some(0)) => Ok((Metadata::default(), 0)),
            (newest, begin) => {
                let begin = begin.map_or_else(|| "has no records".to_owned(), |at| format!("begins at offset {at}"));
                let found = newest.map_or_else(
                    || "no complete snapshot is there that is not after the point in question".to_owned(),
                    |(_, end)| format!("the newest snapshot ends at {end}"),
                );
                let error = format!("the state of the cluster is unknown: the log {begin}, and {found}");
                let error = io::Error::new(io::ErrorKind::NotFound, error);
                Err(ScanError::Io { segment: Arc::clone(&self.log), error })
            }
        }
    }

    /// The rows of the view. What the answer does not show becomes a warning.
    pub(crate) fn finish(&mut self, report: &mut ScanReport, mut rows: Rows) -> Result<Vec<RecordBatch>, ScanError> {
        let metadata = match self.replay.take() {
            Some((metadata, _)) => metadata,
            None => self.base(None)?.0,
        };
        let image = metadata.image();
        let has_leaders = matches!(self.query.view, View::Partitions | View::Brokers | View::Topics);
        if has_leaders && image.is_stopped() {
            let topic = Table::ClusterMetadata.topic().name();
            report.warnings.push(format!(
                "{topic}: all brokers are fenced, as after a clean stop: leaders of -1 and empty ISRs are of the stop; \
                 use an earlier time for those before it"
            ));
        }
        push(self.query, image, &mut rows).map_err(failed)?;
        rows.take().map_err(failed)
    }
}

fn uuids(ids: &[Uuid]) -> Cell<'static> {
    Cell::Texts(ids.iter().map(uuid).collect())
}

fn push(query: Query, image: &Image, rows: &mut Rows) -> Result<(), ArrowError> {
    match query.view {
        View::Partitions => partitions(image, rows),
        View::Brokers => brokers(image, rows),
        View::Features => {
            let mut features = image.features.iter();
            features.try_for_each(|(name, level)| rows.push(&[name.as_str().into(), (*level).into()]))
        }
        View::Configs => configs(image, query.show_secrets, rows),
        View::Acls => acls(image, rows),
        View::Quotas => quotas(image, rows),
        View::Users => users(image, query.show_secrets, rows),
        View::DelegationTokens => tokens(image, query.show_secrets, rows),
        View::Topics | View::Log | View::State => topics(image, query.show_secrets, rows),
    }
}

fn topics(image: &Image, show_secrets: bool, rows: &mut Rows) -> Result<(), ArrowError> {
    for (name, topic) in &image.topics {
        let configs = image.configs.get(&(TOPIC_RESOURCE, name.clone())).into_iter().flatten();
        let configs = configs.map(|(name, value)| format!("{name}={}", shown(name, value, show_secrets)));
        let replication = topic.partitions.values().map(|each| each.replicas.len()).max();
        rows.push(&[
            name.as_str().into(),
            uuid(&topic.id).into(),
            (topic.partitions.len() as i64).into(),
            replication.map(|count| count as i64).into(),
            Cell::Texts(configs.collect()),
        ])?;
    }
    Ok(())
}

fn partitions(image: &Image, rows: &mut Rows) -> Result<(), ArrowError> {
    for (name, topic) in &image.topics {
        for (number, each) in &topic.partitions {
            rows.push(&[
                name.as_str().into(),
                uuid(&topic.id).into(),
                (*number).into(),
                each.leader.into(),
                each.leader_epoch.into(),
                each.partition_epoch.into(),
                ints(&each.replicas),
                ints(&each.isr),
                ints(&each.adding),
                ints(&each.removing),
                ints(&each.elr),
                ints(&each.last_known_elr),
                uuids(&each.directories),
            ])?;
        }
    }
    Ok(())
}

fn brokers(image: &Image, rows: &mut Rows) -> Result<(), ArrowError> {
    for (id, each) in &image.brokers {
        let endpoints = each.endpoints.iter().map(|to| format!("{}://{}:{}", to.name, to.host, to.port));
        rows.push(&[
            (*id).into(),
            each.epoch.into(),
            uuid(&each.incarnation_id).into(),
            each.rack.as_deref().into(),
            each.is_fenced.into(),
            each.in_controlled_shutdown.into(),
            Cell::Texts(endpoints.collect()),
            uuids(&each.log_dirs),
        ])?;
    }
    Ok(())
}

/// The value of a config, or what is shown in its place.
fn shown<'a>(name: &str, value: &'a str, show_secrets: bool) -> &'a str {
    if show_secrets || !is_secret_config(name) { value } else { REDACTED }
}

/// Kafka's `ConfigResource.Type`.
fn resource_type(number: i8) -> String {
    match number {
        TOPIC_RESOURCE => "TOPIC".to_owned(),
        4 => "BROKER".to_owned(),
        8 => "BROKER_LOGGER".to_owned(),
        16 => "CLIENT_METRICS".to_owned(),
        32 => "GROUP".to_owned(),
        other => other.to_string(),
    }
}

fn configs(image: &Image, show_secrets: bool, rows: &mut Rows) -> Result<(), ArrowError> {
    for ((kind, resource), configs) in &image.configs {
        for (name, value) in configs {
            rows.push(&[
                resource_type(*kind).into(),
                resource.as_str().into(),
                name.as_str().into(),
                shown(name, value, show_secrets).into(),
                is_secret_config(name).into(),
            ])?;
        }
    }
    Ok(())
}

fn acls(image: &Image, rows: &mut Rows) -> Result<(), ArrowError> {
    for (id, acl) in &image.acls {
        rows.push(&[
            uuid(id).into(),
            acl.resource_type_name().into(),
            acl.resource_name.as_str().into(),
            acl.pattern_type_name().into(),
            acl.principal.as_str().into(),
            acl.host.as_str().into(),
            acl.operation_name().into(),
            acl.permission_type_name().into(),
        ])?;
    }
    Ok(())
}

fn quotas(image: &Image, rows: &mut Rows) -> Result<(), ArrowError> {
    for (entity, quotas) in &image.quotas {
        let name = |kind: &str| {
            let part = entity.0.iter().find(|(each, _)| each == kind);
            part.map(|(_, name)| name.as_deref().unwrap_or(DEFAULT_ENTITY))
        };
        for (quota, value) in quotas {
            rows.push(&[
                name("user").into(),
                name("client-id").into(),
                name("ip").into(),
                quota.as_str().into(),
                Cell::Float(*value),
            ])?;
        }
    }
    Ok(())
}

fn users(image: &Image, show_secrets: bool, rows: &mut Rows) -> Result<(), ArrowError> {
    for ((user, mechanism), credential) in &image.scram {
        let ScramCredential { iterations, salt, stored_key, server_key } = credential;
        let mut cells: Vec<Cell<'_>> = vec![user.as_str().into(), ScramCredential::mechanism_name(*mechanism).into()];
        cells.push((*iterations).into());
        let secrets =
            [salt, stored_key, server_key].map(|bytes| if show_secrets { Cell::Bytes(bytes) } else { Cell::Null });
        cells.extend(secrets);
        rows.push(&cells)?;
    }
    Ok(())
}

fn tokens(image: &Image, show_secrets: bool, rows: &mut Rows) -> Result<(), ArrowError> {
    for (id, each) in &image.tokens {
        rows.push(&[
            if show_secrets { id.as_str() } else { REDACTED }.into(),
            each.owner.as_str().into(),
            each.requester.as_str().into(),
            Cell::Texts(each.renewers.clone()),
            time(each.issue_timestamp),
            time(each.max_timestamp),
            time(each.expiry_timestamp),
        ])?;
    }
    Ok(())
}
