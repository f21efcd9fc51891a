//! Message formats 0, 1 and 2.
