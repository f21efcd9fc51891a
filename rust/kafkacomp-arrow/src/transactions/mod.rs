//! Which batches a committed reader leaves out.

pub mod committed;
pub(crate) mod tiered;
