//! Which batches a committed reader leaves out.

pub mod committed;
pub(crate) mod in_order;
pub(crate) mod tiered;
