//! Message sets of Kafka 0.7: offsets, nesting, limits, and corruption of any kind.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::io::Write;

use common::message_set::entry;
use flate2::Compression;
use flate2::write::GzEncoder;
use kafkacomp_records::limits::MAX_MESSAGE_SET_NESTING;
use kafkacomp_records::message_set::entries::valid_bytes;
use kafkacomp_records::message_set::{Entries, MessageSetReader};
use kafkacomp_records::{ErrorKind, MessageSetKind};
use proptest::prelude::*;

type Found = (Vec<(Vec<u8>, usize)>, Option<ErrorKind>);

fn gzipped(set: &[u8]) -> Vec<u8> {
    // The fastest level lengthens incompressible data by a percentage, which grows exponentially over a thousand levels of
    // nesting.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(set).unwrap();
    entry(&encoder.finish().unwrap(), 1)
}

/// A wrapper whose content is a raw snappy block, as clients without the xerial framing wrote it.
fn snappied(set: &[u8]) -> Vec<u8> {
    entry(&snap::raw::Encoder::new().compress_vec(set).unwrap(), 2)
}

fn deep(set: &[u8], cap: usize) -> Found {
    let mut reader = MessageSetReader::new(cap);
    let mut found = Vec::new();
    for entry in Entries::new(set) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return (found, Some(error.kind())),
        };
        let unwrapped = reader.unwrap(&entry);
        assert_eq!(unwrapped.is_empty(), unwrapped.messages().next().is_none());
        for (message, position) in unwrapped.messages() {
            assert!(message.is_valid());
            found.push((message.payload().to_vec(), position));
        }
        if let Some(error) = unwrapped.error {
            assert_eq!(error.position, entry.position as u64);
            return (found, Some(error.kind()));
        }
    }
    (found, None)
}

#[test]
fn only_the_last_of_a_wrapper_gets_its_end() {
    let inner = [entry(b"a", 0), snappied(&[entry(b"b", 0), entry(b"c", 0)].concat()), gzipped(b"")].concat();
    let set = [entry(b"x", 0), gzipped(&inner)].concat();
    let start = entry(b"x", 0).len();
    let wanted = [("x", start), ("a", start), ("b", start), ("c", set.len())];
    let (found, error) = deep(&set, 1 << 20);
    assert_eq!(error, None);
    assert_eq!(found, wanted.map(|(payload, position)| (payload.as_bytes().to_vec(), position)));
    assert_eq!(valid_bytes(&set), Ok(set.len()));
}

#[test]
fn levels_are_bounded_and_need_no_stack() {
    let nested = |levels: usize| {
        (0..levels).fold(entry(b"x", 0), |set, level| if level % 2 == 0 { gzipped(&set) } else { snappied(&set) })
    };
    let set = nested(MAX_MESSAGE_SET_NESTING);
    assert_eq!(deep(&set, 1 << 20), (vec![(b"x".to_vec(), set.len())], None));
    for levels in [MAX_MESSAGE_SET_NESTING + 1, 500] {
        let refused = Some(ErrorKind::MessageSet(MessageSetKind::Decompression));
        assert_eq!(deep(&nested(levels), 1 << 20), (Vec::new(), refused));
    }
}

#[test]
fn the_cap_is_on_all_levels_together() {
    let ten = |wrap: fn(&[u8]) -> Vec<u8>| gzipped(&wrap(&entry(&[0; 1000], 0)).repeat(10));
    for wrap in [gzipped, snappied] {
        let set = ten(wrap);
        let needed = 10 * (wrap(&entry(&[0; 1000], 0)).len() + entry(&[0; 1000], 0).len());
        assert_eq!(deep(&set, needed).0.len(), 10);
        let (found, error) = deep(&set, needed - 1);
        assert_eq!((found.len(), error), (9, Some(ErrorKind::OutputLimit)));
    }
}

fn sets() -> impl Strategy<Value = Vec<u8>> {
    let payload = proptest::collection::vec(any::<u8>(), 0..20).prop_map(|payload| entry(&payload, 0));
    let set = |of: BoxedStrategy<Vec<u8>>| proptest::collection::vec(of, 0..4).prop_map(|entries| entries.concat());
    payload.boxed().prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            inner.clone(),
            set(inner.clone()).prop_map(|set| gzipped(&set)),
            set(inner).prop_map(|set| snappied(&set)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(mut set in sets(), flips in proptest::collection::vec(any::<(prop::sample::Index, u8)>(), 0..4)) {
        let whole = deep(&set, 1 << 20);
        prop_assert_eq!(&whole.1, &None);
        prop_assert_eq!(valid_bytes(&set), Ok(set.len()));
        for (at, bits) in flips {
            let at = at.index(set.len());
            set[at] ^= bits;
        }
        deep(&set, 1 << 20);
        let _ = valid_bytes(&set);
    }

    #[test]
    fn noise_is_read_or_refused(set in proptest::collection::vec(any::<u8>(), 0..200)) {
        deep(&set, 1 << 16);
    }
}
