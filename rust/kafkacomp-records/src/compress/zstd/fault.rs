//! The meaning of zstd's error codes.

use super::super::CodecFault;
use ::zstd::zstd_safe::zstd_sys::ZSTD_ErrorCode;

/// The fault for an error code of decompression.
pub(super) fn fault(code: usize) -> CodecFault {
    if is(code, ZSTD_ErrorCode::ZSTD_error_checksum_wrong) {
        CodecFault::ContentHash
    } else if is(code, ZSTD_ErrorCode::ZSTD_error_memory_allocation) {
        CodecFault::OutOfMemory
    } else {
        CodecFault::CorruptBlock
    }
}

/// Whether it is this code: zstd returns its error codes negated in a `size_t`.
pub(super) fn is(code: usize, error: ZSTD_ErrorCode) -> bool {
    code == 0_usize.wrapping_sub(error as usize)
}
