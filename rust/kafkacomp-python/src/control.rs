//! Control records: `kafkacomp.log.parse_control_record`.

use kafkacomp_records::record::control::{LeaderChangeVoter, Voter};
use kafkacomp_records::record::{ControlRecord, ControlRecordType};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::to_py;
use crate::input::bytes_like;
use crate::value::PackageClass;

static CONTROL_RECORD: PackageClass = PackageClass::new("kafkacomp._entries", "ControlRecord");

/// A `kafkacomp.log.ControlRecord`: the name and id of the type, and the fields of the value with their names in Kafka's schemas.
#[pyfunction]
pub fn parse_control_record<'py>(
    py: Python<'py>,
    key: Option<&Bound<'_, PyAny>>,
    value: Option<&Bound<'_, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let key = key.map(|key| bytes_like("key", key)).transpose()?;
    let value = value.map(|value| bytes_like("value", value)).transpose()?;
    let record = ControlRecord::parse(key.as_deref(), value.as_deref()).map_err(|error| to_py(py, &error, None))?;
    let control_type: ControlRecordType = record.control_record_type();
    CONTROL_RECORD.make(py, (control_type.name(), control_type.id(), control_fields(py, &record)?))
}

fn control_fields<'py>(py: Python<'py>, record: &ControlRecord) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    match record {
        ControlRecord::EndTxnMarker { version, coordinator_epoch, .. } => {
            fields.set_item("version", version)?;
            fields.set_item("coordinatorEpoch", coordinator_epoch)?;
        }
        ControlRecord::LeaderChange(message) => {
            fields.set_item("version", message.version)?;
            fields.set_item("leaderId", message.leader_id)?;
            fields.set_item("voters", leader_change_voters(py, &message.voters)?)?;
            fields.set_item("grantingVoters", leader_change_voters(py, &message.granting_voters)?)?;
        }
        ControlRecord::SnapshotHeader { version, last_contained_log_timestamp } => {
            fields.set_item("version", version)?;
            fields.set_item("lastContainedLogTimestamp", last_contained_log_timestamp)?;
        }
        ControlRecord::SnapshotFooter { version } => fields.set_item("version", version)?,
        ControlRecord::KRaftVersion { version, kraft_version } => {
            fields.set_item("version", version)?;
            fields.set_item("kRaftVersion", kraft_version)?;
        }
        ControlRecord::KRaftVoters(record) => {
            fields.set_item("version", record.version)?;
            let voters = record.voters.iter().map(|each| voter(py, each)).collect::<PyResult<Vec<_>>>()?;
            fields.set_item("voters", voters)?;
        }
        ControlRecord::Unknown { .. } => {}
    }
    Ok(fields)
}

fn leader_change_voters<'py>(py: Python<'py>, voters: &[LeaderChangeVoter]) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let one = |voter: &LeaderChangeVoter| {
        let fields = PyDict::new(py);
        fields.set_item("voterId", voter.voter_id)?;
        if let Some(id) = voter.voter_directory_id {
            fields.set_item("voterDirectoryId", id.to_string())?;
        }
        Ok(fields)
    };
    voters.iter().map(one).collect()
}

fn voter<'py>(py: Python<'py>, voter: &Voter) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item("voterId", voter.voter_id)?;
    fields.set_item("voterDirectoryId", voter.voter_directory_id.to_string())?;
    let mut endpoints = Vec::new();
    for endpoint in &voter.endpoints {
        let each = PyDict::new(py);
        each.set_item("name", &endpoint.name)?;
        each.set_item("host", &endpoint.host)?;
        each.set_item("port", endpoint.port)?;
        endpoints.push(each);
    }
    fields.set_item("endpoints", endpoints)?;
    let feature = PyDict::new(py);
    feature.set_item("minSupportedVersion", voter.min_supported_version)?;
    feature.set_item("maxSupportedVersion", voter.max_supported_version)?;
    fields.set_item("kRaftVersionFeature", feature)?;
    Ok(fields)
}
