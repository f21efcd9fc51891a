//! Reads cases of `tests/map_model` from the standard input, one a line, and writes the verdict of the map about each.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test")]

use std::io::{self, BufRead, BufWriter, Write};

#[path = "../tests/common/map_case.rs"]
mod map_case;

fn main() -> io::Result<()> {
    let mut output = BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        writeln!(output, "{}", map_case::verdict(&serde_json::from_str(&line?)?))?;
    }
    output.flush()
}
