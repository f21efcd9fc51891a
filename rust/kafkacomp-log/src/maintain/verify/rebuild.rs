//! What a user does with index files that a broker should not load.

/// How a broker is made to rebuild the indexes of a segment: it does so if there is no `.index`.
pub(super) fn rebuilding(base_offset: i64, suffix: &str) -> String {
    format!(
        "Delete {base_offset:020}.index and {base_offset:020}.{suffix} before a broker loads them: it rebuilds them."
    )
}
