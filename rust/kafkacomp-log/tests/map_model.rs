//! The map against its executable model in `tests/map_model`: a fixed set of cases. `differ.py` there compares any number.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test")]

use std::path::Path;

use serde_json::Value;

#[path = "common/map_case.rs"]
mod map_case;

#[test]
fn the_map_finds_what_the_model_finds() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/map_model/cases.jsonl");
    let cases = std::fs::read_to_string(path).unwrap();
    assert!(cases.lines().count() > 100);
    for (number, line) in cases.lines().enumerate() {
        let case: Value = serde_json::from_str(line).unwrap();
        assert_eq!(map_case::verdict(&case), case["verdict"], "case {number}: {line}");
    }
}
