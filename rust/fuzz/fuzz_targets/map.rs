//! Any facts of segment files have a map: each offset at most once and in order, what is missing is the complement, no file
//! changes what is in place in another one, and the answers do not depend on the order of the files.
//!
//! Input: see `invariants::check_any_facts`.

#![no_main]

use kafkacomp_log::map::invariants::check_any_facts;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| check_any_facts(data));
