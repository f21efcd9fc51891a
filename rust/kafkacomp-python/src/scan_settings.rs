//! The settings of a scan, as Python passes them.

use kafkacomp_arrow::{BinaryType, IsolationLevel, OnError, ScanOptions, options};
use kafkacomp_log::LogFormat;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::cells::column;

fn binary_type(name: &str) -> PyResult<BinaryType> {
    BinaryType::for_name(name).ok_or_else(|| PyValueError::new_err(format!("unknown binary_type {name:?}")))
}

/// `kafkacomp.arrow._options.ScanSettings`, which has checked its fields.
#[derive(FromPyObject)]
pub struct Settings {
    columns: Vec<String>,
    start_time: Option<i64>,
    end_time: Option<i64>,
    isolation_level: String,
    on_error: String,
    threads: usize,
    options: Options,
}

/// `kafkacomp.ScanOptions`, which has checked its fields.
#[derive(FromPyObject)]
struct Options {
    visible_only: bool,
    include_control: bool,
    batch_rows: usize,
    arrow_batch_bytes: usize,
    timestamp_unit: String,
    binary_type: String,
    verify_crc: bool,
    max_output_size: usize,
    log_format: String,
    horizon: Option<u64>,
}

impl Settings {
    /// The core's options.
    ///
    /// # Errors
    /// `ValueError` for a column or a type that does not exist.
    pub fn options(self) -> PyResult<ScanOptions> {
        let Self { columns, start_time, end_time, isolation_level, on_error, threads, options } = self;
        Ok(ScanOptions {
            columns: columns.iter().map(|name| column(name)).collect::<PyResult<_>>()?,
            start_time,
            end_time,
            isolation_level: match isolation_level.as_str() {
                "read_committed" => IsolationLevel::ReadCommitted,
                _ => IsolationLevel::ReadUncommitted,
            },
            on_error: if on_error == "skip" { OnError::Skip } else { OnError::Raise },
            include_control: options.include_control,
            batch_rows: options.batch_rows,
            arrow_batch_bytes: options.arrow_batch_bytes,
            threads,
            timestamp_unit: options::time_unit(&options.timestamp_unit),
            binary_type: binary_type(&options.binary_type)?,
            verify_crc: options.verify_crc,
            max_output_size: options.max_output_size,
            visible_only: options.visible_only,
            log_format: LogFormat::for_name(&options.log_format),
            horizon: options.horizon,
        })
    }
}
