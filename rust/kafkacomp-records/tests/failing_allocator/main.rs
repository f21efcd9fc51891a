//! Each large allocation is refused in turn: the result is the right data or an error of [`Category::Resource`], and the
//! process does not abort. `tests/faults` refuses the allocations of the C libraries.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]
#![allow(unsafe_code, reason = "an allocator is unsafe by its trait")]

mod allocator;
mod withstands;

use std::io::{Read, Write};

use allocator::{Failing, large_from};
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::lz4::HeaderChecksum;
use kafkacomp_records::compress::stream::{DecoderOptions, MultiFrameDecoder, encoder};
use kafkacomp_records::compress::{Compression, DecodeOptions, compress, decompress};
use kafkacomp_records::io::{Reader, Writer};
use kafkacomp_records::message_set::writer::{Content, write_message_set};
use kafkacomp_records::message_set::{Entries, MessageSetCodec, MessageSetReader};
use kafkacomp_records::record::{
    BatchSettings, Batches, BuildFault, ConvertOptions, Headers, Merger, PairedBuilder, Recompressor, RecordReader,
    convert,
};
use withstands::{Answer, CAP, Ended, batch, plain, withstands};

#[global_allocator]
static ALLOCATOR: Failing = Failing;

fn records_of(data: &[u8]) -> Answer {
    let mut reader = RecordReader::new(CAP);
    let mut seen = Vec::new();
    for batch in Batches::new(data, 0) {
        let batch = batch?;
        batch.ensure_valid()?;
        for record in reader.records(&batch)? {
            let record = record?;
            seen.extend(record.offset.to_be_bytes());
            seen.extend(kafkacomp_records::checksum::crc32(record.value.unwrap_or_default()).to_be_bytes());
        }
    }
    Ok(seen)
}

/// All in one test, because the allocator is global to the process.
#[test]
fn lack_of_memory_is_an_error_of_its_own() {
    let content = plain(3 << 20);
    let values: Vec<&[u8]> = content.chunks(1_300_000).collect();
    codecs(&content);
    for compression_type in CompressionType::ALL {
        for magic in 0..=2 {
            if magic == 2 || compression_type != CompressionType::Zstd {
                records(compression_type, magic, &values);
            }
        }
    }
    large_from(4 << 10, || pairs(&content));
    message_sets(&values);
}

fn codecs(content: &[u8]) {
    for compression_type in CompressionType::ALL {
        let name = compression_type.name();
        let mut compressed = Vec::new();
        compress(Compression::of(compression_type), HeaderChecksum::FrameDescriptor, content, &mut compressed).unwrap();
        withstands(&format!("compress {name}"), || {
            let mut out = Vec::new();
            compress(Compression::of(compression_type), HeaderChecksum::FrameDescriptor, content, &mut out)?;
            Ok(out)
        });
        withstands(&format!("decompress {name}"), || {
            let mut out = kafkacomp_records::buffer::OutputBuffer::new(CAP);
            decompress(compression_type, DecodeOptions::default(), &compressed, &mut out)?;
            Ok(out.into_vec())
        });
        withstands(&format!("compressing stream {name}"), || {
            let mut sink =
                kafkacomp_records::memory::with_capacity(content.len() * 2).map_err(|_| Ended::OutOfMemory)?;
            let mut writer =
                Writer::new(&mut sink, encoder(Compression::of(compression_type), HeaderChecksum::FrameDescriptor)?);
            writer.write_all(content)?;
            writer.finish()?;
            Ok(sink)
        });
        if compression_type != CompressionType::None {
            withstands(&format!("decompressing stream {name}"), || {
                let mut out = kafkacomp_records::memory::zeroed(content.len()).map_err(|_| Ended::OutOfMemory)?;
                let frames = MultiFrameDecoder::new(compression_type, DecoderOptions::default());
                Reader::new(compressed.as_slice(), frames).read_exact(&mut out)?;
                Ok(out)
            });
        }
    }
    let raw = snap::raw::Encoder::new().compress_vec(content).unwrap();
    withstands("decompressing stream of a raw snappy block", || {
        let mut out = kafkacomp_records::memory::zeroed(content.len()).map_err(|_| Ended::OutOfMemory)?;
        let frames = MultiFrameDecoder::new(CompressionType::Snappy, DecoderOptions::default());
        Reader::new(raw.as_slice(), frames).read_exact(&mut out)?;
        Ok(out)
    });
}

fn records(compression_type: CompressionType, magic: i8, values: &[&[u8]]) {
    let name = format!("{} of magic {magic}", compression_type.name());
    let data = batch(compression_type, magic, 0, values).unwrap();
    withstands(&format!("build {name}"), || batch(compression_type, magic, 0, values));
    withstands(&format!("read {name}"), || records_of(&data));
    for to_magic in 0..=2 {
        let options = ConvertOptions { to_magic, upgrade: true, max_output_size: CAP, ..ConvertOptions::default() };
        if compression_type != CompressionType::Zstd || to_magic == 2 {
            withstands(&format!("convert {name} to {to_magic}"), || Ok(convert(&data, options)?));
        }
    }
    withstands(&format!("recompress {name}"), || {
        let mut recompressor = Recompressor::new(Compression::of(CompressionType::Lz4), CAP);
        let mut out = Vec::new();
        for batch in Batches::new(&data, 0) {
            recompressor.push(&batch?, &mut out)?;
        }
        Ok(out)
    });
    withstands(&format!("merge {name}"), || {
        let mut merger = Merger::new(Compression::of(CompressionType::Snappy), 4 << 20, CAP);
        let mut out = Vec::new();
        for batch in Batches::new(&data, 0) {
            merger.push(&batch?, &mut out)?;
        }
        merger.finish(&mut out)?;
        Ok(out)
    });
}

/// Batches that are compressed two at a time. After a refusal, the output has complete batches, and the call can be repeated.
fn pairs(content: &[u8]) {
    let compression = Compression::of(CompressionType::Snappy);
    let once_more = |work: &mut dyn FnMut() -> Result<(), BuildFault>| work().or_else(|_| work());
    withstands("build pairs of batches", || {
        let (mut builder, mut out) = (PairedBuilder::default(), Vec::new());
        for (base_offset, values) in (0..).step_by(100).zip(content[..80_000].chunks(16_000)) {
            once_more(&mut || builder.reset(BatchSettings { compression, base_offset, ..BatchSettings::default() }))?;
            for (offset, value) in (base_offset..).zip(values.chunks(160)) {
                once_more(&mut || builder.current().append(offset, 5, None, Some(value), Headers::EMPTY))?;
            }
            once_more(&mut || {
                let closed = builder.close(&mut out);
                assert!(Batches::new(&out, 0).all(|batch| batch.unwrap().ensure_valid().is_ok()));
                closed
            })?;
        }
        once_more(&mut || builder.flush(&mut out))?;
        Ok(out)
    });
}

fn message_sets(values: &[&[u8]]) {
    for codec in [None, Some(MessageSetCodec::Gzip), Some(MessageSetCodec::Snappy)] {
        let write = || {
            let compression = codec.map(|codec| (codec, Compression::of(codec.compression_type())));
            let mut out = Vec::new();
            let contents = values.iter().map(|value| Content::Payload(value));
            write_message_set(contents, compression, &mut out)
                .map_err(|fault| Ended::of(fault.kind(), &fault))
                .map(|()| out)
        };
        let set = write().unwrap();
        withstands(&format!("write a message set {codec:?}"), write);
        withstands(&format!("read a message set {codec:?}"), || {
            let mut reader = MessageSetReader::new(CAP);
            let mut seen = Vec::new();
            for entry in Entries::new(&set) {
                let entry = entry?;
                let unwrapped = reader.unwrap(&entry);
                for (message, next) in unwrapped.messages() {
                    seen.extend((next as u64).to_be_bytes());
                    seen.extend(kafkacomp_records::checksum::crc32(message.payload()).to_be_bytes());
                }
                unwrapped.error.map_or(Ok(()), Err)?;
            }
            Ok(seen)
        });
    }
}
