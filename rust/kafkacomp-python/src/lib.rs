//! The extension module `kafkacomp._kafkacomp`: extract, release the GIL, call the core, map the error.
//! Nothing else.

mod adjacent;
mod batch;
mod batch_settings;
mod batch_stream;
mod build;
mod builder;
mod bytes;
mod cells;
mod chunked_file;
mod codec;
mod control;
mod coverage;
mod encode;
mod enums;
mod error;
mod file_object;
mod follow;
mod gil;
mod input;
mod inspected;
mod internal;
mod interrupt;
mod job;
mod json_lines;
mod listing;
mod memory;
mod message_chunks;
mod message_set;
mod message_set_write;
mod migrate;
mod plan;
mod process;
mod progress;
mod record;
mod record_fields;
mod results;
mod rewrite;
mod rows;
mod scan;
mod scan_report;
mod scan_settings;
mod scratch;
mod segment;
mod shared;
mod side_files;
mod staged;
mod stream;
mod summary;
mod tiered;
mod validator;
mod value;
mod verify;
mod write;

use pyo3::prelude::*;

/// The Rust core of kafkacomp; private, see the package's modules.
#[pymodule(gil_used = false)]
fn _kafkacomp(m: &Bound<'_, PyModule>) -> PyResult<()> {
    process::register_hooks(m)?;
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("DEFAULT_MAX_OUTPUT_SIZE", kafkacomp_records::limits::DEFAULT_MAX_OUTPUT_SIZE)?;
    m.add("MAX_BATCH_BYTES", kafkacomp_arrow::options::MAX_BATCH_BYTES)?;
    add_codecs(m)?;
    add_records(m)?;
    add_broker(m)?;
    add_listing(m)?;
    add_logs(m)?;
    add_rewrites(m)?;
    add_results(m)
}

/// Codecs, streams and cells of Arrow arrays.
fn add_codecs(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<stream::Compressor>()?;
    m.add_class::<stream::Decompressor>()?;
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
    m.add_function(wrap_pyfunction!(codec::zstd_frame_info, m)?)
}

/// Batches, records, message sets and what builds them.
fn add_records(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<batch::Batch>()?;
    m.add_class::<batch::BatchReader>()?;
    m.add_class::<batch_stream::BatchStream>()?;
    m.add_class::<builder::Builder>()?;
    m.add_function(wrap_pyfunction!(build::build_batches, m)?)?;
    m.add_function(wrap_pyfunction!(build::estimate_batch_size_upper_bound, m)?)?;
    m.add_function(wrap_pyfunction!(build::convert, m)?)?;
    m.add_class::<message_chunks::MessageChunk>()?;
    m.add_class::<message_chunks::MessageChunks>()?;
    m.add_class::<message_set::MessageReader>()?;
    m.add_class::<message_set::PyMessage>()?;
    m.add_function(wrap_pyfunction!(message_set::valid_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(message_set_write::write_message_set_of, m)?)?;
    m.add_class::<record::PyRecord>()?;
    m.add_class::<record::Records>()?;
    m.add_function(wrap_pyfunction!(json_lines::json_lines, m)?)?;
    m.add_function(wrap_pyfunction!(control::parse_control_record, m)?)
}

/// What a broker does with a produce request.
fn add_broker(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<validator::Validator>()?;
    m.add_function(wrap_pyfunction!(validator::analyze_and_validate_records, m)?)?;
    m.add_function(wrap_pyfunction!(validator::profile_append, m)?)?;
    m.add_function(wrap_pyfunction!(validator::profile_names, m)?)?;
    m.add_function(wrap_pyfunction!(validator::profile_name, m)?)
}

/// What is in folders.
fn add_listing(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("INTERNAL_TOPICS", kafkacomp_log::listing::names::INTERNAL_TOPICS)?;
    m.add_class::<listing::ByName>()?;
    m.add_class::<listing::NamePattern>()?;
    m.add_class::<inspected::Inspected>()?;
    m.add_function(wrap_pyfunction!(listing::list_folder, m)?)?;
    m.add_function(wrap_pyfunction!(listing::list_file, m)?)?;
    m.add_function(wrap_pyfunction!(listing::remote_folder_of, m)?)?;
    m.add_function(wrap_pyfunction!(listing::refuse_packed, m)?)?;
    m.add_function(wrap_pyfunction!(listing::container_of, m)?)?;
    m.add_function(wrap_pyfunction!(listing::container_in, m)?)?;
    m.add_function(wrap_pyfunction!(listing::glob_matches, m)?)?;
    m.add_function(wrap_pyfunction!(listing::check_side_file, m)?)?;
    m.add_function(wrap_pyfunction!(listing::without_segment, m)?)?;
    m.add_function(wrap_pyfunction!(inspected::inspect, m)?)?;
    m.add_function(wrap_pyfunction!(inspected::are_misnamed, m)?)?;
    m.add_function(wrap_pyfunction!(listing::copies, m)?)?;
    m.add_function(wrap_pyfunction!(listing::segment_offset, m)?)?;
    m.add_function(wrap_pyfunction!(listing::is_segment, m)?)?;
    m.add_function(wrap_pyfunction!(listing::is_tiered_segment, m)?)?;
    m.add_function(wrap_pyfunction!(listing::is_not_a_segment, m)?)?;
    m.add_function(wrap_pyfunction!(listing::leading_offset, m)?)?;
    m.add_function(wrap_pyfunction!(listing::partition_of, m)?)?;
    m.add_function(wrap_pyfunction!(listing::owner_of, m)?)?;
    m.add_function(wrap_pyfunction!(listing::last_snapshot, m)?)?;
    m.add_function(wrap_pyfunction!(listing::kind_of, m)?)?;
    m.add_function(wrap_pyfunction!(listing::kind_of_file, m)?)
}

/// Reading segments and partitions.
fn add_logs(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<follow::LogFollower>()?;
    m.add_class::<scan::ScanReader>()?;
    m.add_function(wrap_pyfunction!(scan::columns, m)?)?;
    m.add_function(wrap_pyfunction!(internal::internal_tables, m)?)?;
    m.add_function(wrap_pyfunction!(internal::internal_dump_line, m)?)?;
    m.add_function(wrap_pyfunction!(internal::internal_json, m)?)?;
    m.add_class::<plan::ByteRange>()?;
    m.add_class::<plan::FoundTransactions>()?;
    m.add_function(wrap_pyfunction!(plan::split_segment, m)?)?;
    m.add_function(wrap_pyfunction!(plan::end_offset, m)?)?;
    m.add_function(wrap_pyfunction!(plan::log_end, m)?)?;
    m.add_function(wrap_pyfunction!(plan::judged_span, m)?)?;
    m.add_function(wrap_pyfunction!(plan::continues_at, m)?)?;
    m.add_function(wrap_pyfunction!(plan::reached_end, m)?)?;
    m.add_function(wrap_pyfunction!(plan::is_message_set, m)?)?;
    m.add_function(wrap_pyfunction!(plan::read_range, m)?)?;
    m.add_function(wrap_pyfunction!(plan::newest_message_format, m)?)?;
    m.add_function(wrap_pyfunction!(plan::offset_for_time, m)?)?;
    m.add_function(wrap_pyfunction!(plan::find_transactions, m)?)?;
    m.add_function(wrap_pyfunction!(summary::summarize_partition, m)?)?;
    m.add_function(wrap_pyfunction!(summary::judged_offsets, m)?)?;
    m.add_function(wrap_pyfunction!(side_files::read_offset_index, m)?)?;
    m.add_function(wrap_pyfunction!(side_files::read_time_index, m)?)?;
    m.add_function(wrap_pyfunction!(side_files::read_transaction_index, m)?)?;
    m.add_function(wrap_pyfunction!(side_files::read_producer_snapshot, m)?)?;
    m.add_function(wrap_pyfunction!(side_files::read_leader_epoch_checkpoint, m)?)?;
    m.add_function(wrap_pyfunction!(side_files::read_offset_checkpoint, m)?)?;
    m.add_function(wrap_pyfunction!(side_files::read_partition_metadata, m)?)?;
    m.add_function(wrap_pyfunction!(coverage::partition_offsets, m)?)?;
    m.add_class::<adjacent::AdjacentBatch>()?;
    m.add_function(wrap_pyfunction!(adjacent::adjacent_batches, m)?)?;
    m.add_class::<tiered::ChunkDecoder>()?;
    m.add_function(wrap_pyfunction!(verify::verify_partition, m)?)?;
    m.add_function(wrap_pyfunction!(verify::format_of_content, m)?)?;
    m.add_class::<verify::VerifiedPartition>()?;
    m.add_class::<interrupt::StopFlag>()
}

/// Writing and rewriting segments and partitions.
fn add_rewrites(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<rewrite::RepairedPartition>()?;
    m.add_class::<rewrite::RewrittenPartition>()?;
    m.add_class::<rewrite::NewLog>()?;
    m.add_class::<rewrite::StagedFolder>()?;
    m.add_function(wrap_pyfunction!(rewrite::remove_abandoned, m)?)?;
    m.add_function(wrap_pyfunction!(rewrite::recompress_partition, m)?)?;
    m.add_function(wrap_pyfunction!(rewrite::convert_partition, m)?)?;
    m.add_function(wrap_pyfunction!(rewrite::repair_partition, m)?)?;
    m.add_function(wrap_pyfunction!(migrate::partition_format, m)?)?;
    m.add_function(wrap_pyfunction!(migrate::migrate_partition, m)?)?;
    m.add_function(wrap_pyfunction!(migrate::migrate_set, m)?)?;
    m.add_function(wrap_pyfunction!(write::write_log, m)?)?;
    m.add_class::<staged::StagedBatches>()?;
    m.add_function(wrap_pyfunction!(staged::assemble_log, m)?)
}

/// The classes of results.
fn add_results(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<results::MissingOffsets>()?;
    m.add_class::<results::Overlap>()?;
    m.add_class::<results::PartitionFindings>()?;
    m.add_class::<results::PartitionOffsets>()?;
    m.add_class::<results::StagedFile>()?;
    m.add_class::<results::WrittenLog>()
}
