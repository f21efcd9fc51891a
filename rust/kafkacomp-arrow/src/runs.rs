//! Columns that hardly ever change from row to row: kept as runs, written out when a batch is finished,
//! and while a whole batch is one run, cut from an array that was made once.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int8Array, Int16Array, Int32Array, Int64Array, StringArray};

/// A value that can fill a column.
pub trait RunValue: Clone + PartialEq {
    /// The Arrow array of `runs`.
    fn array(runs: &[(Self, usize)]) -> ArrayRef;
}

macro_rules! run_value {
    ($($type:ty => $array:ident),*) => {$(
        impl RunValue for $type {
            fn array(runs: &[(Self, usize)]) -> ArrayRef {
                let all = runs.iter().flat_map(|(value, rows)| std::iter::repeat_n(value.clone(), *rows));
                Arc::new(all.collect::<$array>())
            }
        }
    )*};
}

run_value!(Option<i8> => Int8Array, Option<i16> => Int16Array, Option<i32> => Int32Array, Option<i64> => Int64Array,
    Option<bool> => BooleanArray, Option<Arc<str>> => StringArray);

/// A column of runs.
#[derive(Debug)]
pub struct RunColumn<T> {
    runs: Vec<(T, usize)>,
    cached: Option<(T, ArrayRef)>,
}

impl<T: RunValue> RunColumn<T> {
    /// An empty column.
    pub fn new() -> Self {
        Self { runs: Vec::new(), cached: None }
    }

    /// Appends `rows` times `value`.
    pub fn push(&mut self, value: &T, rows: usize) {
        match self.runs.last_mut() {
            Some((last, count)) if last == value => *count = count.saturating_add(rows),
            _ => self.runs.push((value.clone(), rows)),
        }
    }

    /// Appends one row.
    #[inline]
    pub fn push_one(&mut self, value: T) {
        match self.runs.last_mut() {
            Some((last, count)) if *last == value => *count += 1,
            _ => self.runs.push((value, 1)),
        }
    }

    /// Drops the last `rows` rows.
    pub fn truncate(&mut self, mut rows: usize) {
        while let Some((_, count)) = self.runs.last_mut()
            && rows > 0
        {
            let dropped = rows.min(*count);
            *count = count.saturating_sub(dropped);
            rows = rows.saturating_sub(dropped);
            if *count == 0 {
                self.runs.pop();
            }
        }
    }

    /// The column so far; the column is empty then.
    pub fn finish(&mut self) -> ArrayRef {
        let runs = std::mem::take(&mut self.runs);
        let [(value, rows)] = runs.as_slice() else { return T::array(&runs) };
        match &self.cached {
            Some((cached, array)) if cached == value && array.len() >= *rows => array.slice(0, *rows),
            _ => {
                let array = T::array(&runs);
                self.cached = Some((value.clone(), Arc::clone(&array)));
                array
            }
        }
    }
}
