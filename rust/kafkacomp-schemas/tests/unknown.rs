//! What no schema fits is kept with its bytes and a reason, and is an error for nothing else.
#![allow(clippy::panic, reason = "a test")]

use kafkacomp_schemas::{Decoded, Topic, Unknown, decode_control, json};

fn reason(decoded: &Decoded<'_>) -> String {
    match decoded {
        Decoded::Unknown { reason, .. } => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_coordinators_record_needs_a_known_type_and_version() {
    let topic = Topic::ConsumerOffsets;
    assert_eq!(reason(&topic.decode(None, Some(b"x"))), "the key has no record type");
    assert_eq!(reason(&topic.decode(Some(b"\0"), None)), "the key has no record type");
    assert_eq!(reason(&topic.decode(Some(b"\0\x4d\0\x01x"), None)), "Found an unknown record type 77");
    assert_eq!(reason(&topic.decode(Some(b"\xff\xff"), None)), "Found an unknown record type -1");
    let key = Some(&b"\0\x03\0\x01g"[..]);
    assert_eq!(reason(&topic.decode(key, Some(b"\0"))), "the value has no version");
    assert_eq!(reason(&topic.decode(key, Some(b"\0\x09\0"))), "Found an unknown record version 9 for 3 type");
    assert_eq!(reason(&topic.decode(key, Some(b"\xff\xff\0"))), "Found an unknown record version -1 for 3 type");
    assert_eq!(reason(&topic.decode(Some(b"\0\x03\0\x05g"), None)), "key: byte 2: groupId: 5 bytes needed, 1 left");
    assert_eq!(
        reason(&topic.decode(Some(b"\0\x03\xff\xff"), None)),
        "key: byte 0: groupId: null, which version 0 does not allow"
    );
    assert!(matches!(topic.decode(key, None), Decoded::Keyed { value: None, .. }), "a tombstone");
}

#[test]
fn a_record_of_the_metadata_log_needs_a_frame_and_an_end() {
    let topic = Topic::ClusterMetadata;
    let no_op = b"\x01\x14\0\0";
    assert!(matches!(topic.decode(None, Some(no_op)), Decoded::Framed { kind, .. } if kind.name == "NO_OP_RECORD"));
    assert_eq!(reason(&topic.decode(None, None)), "the value has no version");
    assert_eq!(reason(&topic.decode(None, Some(b"\0\x14\0\0"))), "unknown frame version 0");
    assert_eq!(reason(&topic.decode(None, Some(b"\x01\x7f\0\0"))), "Found an unknown record type 127");
    assert_eq!(
        reason(&topic.decode(None, Some(b"\x01\x14\x07\0"))),
        "Found an unknown record version 7 for NO_OP_RECORD type"
    );
    assert_eq!(reason(&topic.decode(None, Some(b"\x01\x14\0\0xyz"))), "3 bytes after the end of the value");
    assert_eq!(
        reason(&topic.decode(None, Some(b"\x01\x14\0"))),
        "value: byte 0: tagged fields: 1 bytes needed, 0 left"
    );
}

#[test]
fn a_marker_of_a_later_version_is_read_as_the_first() {
    let marker = decode_control(Some(b"\0\0\0\x01"), Some(b"\0\x05\0\0\0\x07more"));
    let Decoded::Control { name: "COMMIT", value, .. } = marker else { panic!("{marker:?}") };
    assert_eq!((value.fields.int("coordinatorEpoch"), value.rest), (Some(7), &b"more"[..]));
    assert_eq!(reason(&decode_control(Some(b"\0\0\0\x63"), Some(b"\0\0"))), "Found an unknown record type 99");
    assert_eq!(reason(&decode_control(Some(b"\0\0"), Some(b"\0\0"))), "the key has no record type");
    assert_eq!(reason(&decode_control(Some(b"\0\0\0\x01"), None)), "the value has no version");
}

#[test]
fn an_unknown_record_is_printed_with_its_bytes() {
    let origin = json::Origin { offset: 1, timestamp: 2, producer: None };
    let printed = json::line(origin, &Topic::ConsumerOffsets.decode(Some(b"\0\x4d\xff"), None));
    let expected =
        r#"{"offset":1,"timestamp":2,"error":"Found an unknown record type 77","keyHex":"004dff","valueHex":null}"#;
    assert_eq!(printed, expected);
}

#[test]
fn unknown_tagged_fields_are_kept() {
    // FeatureLevelRecord with the tagged field 9.
    let decoded = Topic::ClusterMetadata.decode(None, Some(b"\x01\x0c\0\x02f\0\x01\x01\x09\x03abc"));
    let Decoded::Framed { value, .. } = decoded else { panic!("{decoded:?}") };
    assert_eq!(value.fields.unknown_tagged_fields(), [(9, &b"abc"[..])]);
    // A known tag in a version that does not have it: eligible leader replicas in PartitionRecord 0.
    let bytes = [&b"\x01\x03\0\0\0\0\0"[..], &[0; 16], &[1, 1, 1, 1], &[0; 12], b"\x01\x01\x01\x01"].concat();
    let decoded = Topic::ClusterMetadata.decode(None, Some(&bytes));
    let Decoded::Unknown { reason: Unknown::Value(fault), .. } = decoded else { panic!("{decoded:?}") };
    assert!(fault.to_string().ends_with("tag 1 is not valid in version 0"), "{fault}");
}
