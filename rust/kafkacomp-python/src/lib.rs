//! The extension module `kafkacomp._kafkacomp`: extract, release the GIL, call the core, map the error.
//! Nothing else.

mod batch;
mod batch_stream;
mod builder;
mod bytes;
mod cells;
mod codec;
mod encode;
mod enums;
mod error;
mod file_object;
mod follow;
mod gil;
mod input;
mod interrupt;
mod job;
mod message_set;
mod message_set_write;
mod migrate;
mod plan;
mod process;
mod record;
mod rewrite;
mod scan;
mod scratch;
mod segment;
mod sequence;
mod sidecar;
mod staged;
mod stream;
mod tiered;
mod validator;
mod write;

use pyo3::prelude::*;

/// The Rust core of kafkacomp; private, see the package's modules.
#[pymodule(gil_used = false)]
fn _kafkacomp(m: &Bound<'_, PyModule>) -> PyResult<()> {
    process::register_hooks(m)?;
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("DEFAULT_MAX_OUTPUT_SIZE", kafkacomp_core::limits::DEFAULT_MAX_OUTPUT_SIZE)?;
    m.add("MAX_BATCH_BYTES", kafkacomp_arrow::options::MAX_BATCH_BYTES)?;
    m.add_class::<batch::Batch>()?;
    m.add_class::<batch::BatchReader>()?;
    m.add_class::<batch_stream::BatchStream>()?;
    m.add_class::<stream::Compressor>()?;
    m.add_class::<stream::Decompressor>()?;
    m.add_class::<builder::Builder>()?;
    m.add_function(wrap_pyfunction!(builder::build_batches, m)?)?;
    m.add_function(wrap_pyfunction!(builder::estimate_batch_size_upper_bound, m)?)?;
    m.add_function(wrap_pyfunction!(builder::convert, m)?)?;
    m.add_class::<follow::LogFollower>()?;
    m.add_class::<message_set::MessageReader>()?;
    m.add_class::<message_set::PyMessage>()?;
    m.add_class::<record::PyRecord>()?;
    m.add_class::<record::Records>()?;
    m.add_class::<scan::ScanReader>()?;
    m.add_class::<cells::ArrowArray>()?;
    m.add_function(wrap_pyfunction!(cells::decompress_cells, m)?)?;
    m.add_function(wrap_pyfunction!(cells::compress_cells, m)?)?;
    m.add_function(wrap_pyfunction!(cells::parse_cells, m)?)?;
    m.add_function(wrap_pyfunction!(encode::compress, m)?)?;
    m.add_function(wrap_pyfunction!(encode::lz4_compress, m)?)?;
    m.add_function(wrap_pyfunction!(codec::decompress, m)?)?;
    m.add_function(wrap_pyfunction!(codec::decompress_into, m)?)?;
    m.add_function(wrap_pyfunction!(codec::decompress_record_set, m)?)?;
    m.add_function(wrap_pyfunction!(codec::lz4_frame_info, m)?)?;
    m.add_function(wrap_pyfunction!(sidecar::read_offset_index, m)?)?;
    m.add_function(wrap_pyfunction!(sidecar::read_time_index, m)?)?;
    m.add_function(wrap_pyfunction!(sidecar::read_transaction_index, m)?)?;
    m.add_function(wrap_pyfunction!(sidecar::read_producer_snapshot, m)?)?;
    m.add_function(wrap_pyfunction!(sidecar::read_leader_epoch_checkpoint, m)?)?;
    m.add_function(wrap_pyfunction!(sidecar::read_offset_checkpoint, m)?)?;
    m.add_function(wrap_pyfunction!(sidecar::read_partition_metadata, m)?)?;
    m.add_function(wrap_pyfunction!(sidecar::parse_control_record, m)?)?;
    m.add_function(wrap_pyfunction!(sidecar::verify_segment, m)?)?;
    m.add_function(wrap_pyfunction!(sidecar::format_of_content, m)?)?;
    m.add_function(wrap_pyfunction!(sidecar::compare_segments, m)?)?;
    m.add_function(wrap_pyfunction!(sequence::partition_offsets, m)?)?;
    m.add_function(wrap_pyfunction!(message_set::valid_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(message_set_write::write_message_set_of, m)?)?;
    m.add_class::<validator::Validator>()?;
    m.add_function(wrap_pyfunction!(validator::analyze_and_validate_records, m)?)?;
    m.add_class::<rewrite::RepairedFolder>()?;
    m.add_class::<rewrite::StagedFolder>()?;
    m.add_function(wrap_pyfunction!(rewrite::recompress_partition, m)?)?;
    m.add_function(wrap_pyfunction!(rewrite::convert_partition, m)?)?;
    m.add_function(wrap_pyfunction!(migrate::partition_format, m)?)?;
    m.add_function(wrap_pyfunction!(migrate::migrate_partition, m)?)?;
    m.add_function(wrap_pyfunction!(migrate::migrate_set, m)?)?;
    m.add_function(wrap_pyfunction!(rewrite::repair_partition, m)?)?;
    m.add_function(wrap_pyfunction!(validator::profile_append, m)?)?;
    m.add_function(wrap_pyfunction!(validator::profile_names, m)?)?;
    m.add_function(wrap_pyfunction!(validator::profile_name, m)?)?;
    m.add_function(wrap_pyfunction!(write::write_log, m)?)?;
    m.add_function(wrap_pyfunction!(plan::cut_segment, m)?)?;
    m.add_function(wrap_pyfunction!(plan::end_offset, m)?)?;
    m.add_function(wrap_pyfunction!(plan::start_offset, m)?)?;
    m.add_function(wrap_pyfunction!(plan::is_message_set, m)?)?;
    m.add_function(wrap_pyfunction!(plan::offset_for_time, m)?)?;
    m.add_function(wrap_pyfunction!(plan::find_transactions, m)?)?;
    m.add_class::<staged::StagedBatches>()?;
    m.add_function(wrap_pyfunction!(staged::assemble_log, m)?)?;
    m.add_class::<tiered::ChunkDecoder>()?;
    m.add_function(wrap_pyfunction!(scan::columns, m)?)
}
