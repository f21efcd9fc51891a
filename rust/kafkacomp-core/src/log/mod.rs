//! Segments and the files beside them.
