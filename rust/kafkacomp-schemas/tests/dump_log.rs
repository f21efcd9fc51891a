//! Keys and values are printed as `DumpLogSegments` prints them.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{lines, pairs, records, topic};
use kafkacomp_schemas::dump_log::{Line, line};
use kafkacomp_schemas::{Topic, decode_control};

/// The end of the line of a record: what follows the list of header keys or the checksum.
fn text(line: &str) -> &str {
    let at = line.find(" key: ").or_else(|| line.find(" payload: "));
    at.map_or("", |at| &line[at..])
}

#[test]
fn every_record_of_the_vectors_is_printed_as_dump_log_segments_prints_it() {
    let (mut count, mut differences) = (0, Vec::new());
    let statuses = ["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"];
    for (segment, expected) in pairs() {
        let dump = expected.to_str().unwrap().replace(".jsonl.gz", ".dump-4.3.1.txt.gz");
        let dump = if std::path::Path::new(&dump).is_file() { dump } else { dump.replace("4.3.1", "4.4.0") };
        let topic = Topic::from_name(&topic(&segment)).unwrap();
        let printed = lines(dump.as_ref());
        let printed = printed.iter().filter(|line| line.starts_with("| offset: "));
        let printed: Vec<_> = printed.map(|line| text(line)).collect();
        let records = records(&segment);
        assert_eq!(records.len(), printed.len(), "{dump}");
        for (record, expected) in records.iter().zip(printed) {
            let (key, value) = (record.key.as_deref(), record.value.as_deref());
            let decoded = if record.is_control { decode_control(key, value) } else { topic.decode(key, value) };
            let Line { key, payload } = line(topic, record.origin.offset, &decoded);
            let key = key.map(|key| format!(" key: {key}")).unwrap_or_default();
            let ours = key + &payload.map(|payload| format!(" payload: {payload}")).unwrap_or_default();
            // Kafka 4.4 prints the names of statuses, 4.3 their numbers.
            let expected = statuses.iter().enumerate().fold(expected.to_owned(), |text, (id, name)| {
                text.replace(&format!("\"transactionStatus\":\"{name}\""), &format!("\"transactionStatus\":{id}"))
            });
            if !record.is_control && ours != expected {
                differences.push(format!("{}\n  ours {ours}\n  Kafka{expected}", segment.display()));
            }
            count += 1;
        }
    }
    println!("{count} records, {} differences", differences.len());
    let first = differences.iter().take(10).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{} of {count} records differ:\n{first}", differences.len());
}
