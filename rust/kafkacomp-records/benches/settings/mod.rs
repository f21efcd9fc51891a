//! How long criterion looks at a point: so shortly that `make bench`, whose comparisons are what is reported, ends within the
//! hour. `cargo bench -- NAME --measurement-time 5` looks longer at those whose name has it.

#![allow(unreachable_pub, reason = "a module of each benchmark")]

use criterion::Criterion;
use std::time::Duration;

pub fn settings(warm_up: Duration, measurement: Duration) -> Criterion {
    Criterion::default().sample_size(20).warm_up_time(warm_up).measurement_time(measurement).without_plots()
}
