//! Columns whose values rarely change from row to row. They are kept as runs and written when a batch is finished. If the whole
//! batch is one run, it is a slice of an array that is reused.

use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, StringArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use kafkacomp_records::memory::{self, OutOfMemory};

use crate::columns::validity::Validity;

/// A value that can fill a column.
pub trait RunValue: Clone + PartialEq {
    /// The Arrow array of `runs`.
    ///
    /// # Errors
    /// Memory runs out, or the column would be too large for 32-bit offsets.
    fn array(runs: &[(Self, usize)]) -> Result<ArrayRef, OutOfMemory>;
}

fn rows<T>(runs: &[(T, usize)]) -> usize {
    runs.iter().map(|(_, rows)| rows).sum()
}

fn primitive<T: ArrowPrimitiveType>(runs: &[(Option<T::Native>, usize)]) -> Result<ArrayRef, OutOfMemory> {
    let mut values = memory::with_capacity(rows(runs))?;
    let (mut validity, mut out_of_memory) = (Validity::default(), None);
    for (value, rows) in runs {
        // The value of a null row is never read.
        values.resize(values.len().saturating_add(*rows), value.unwrap_or_default());
        validity.push_many(value.is_some(), *rows, &mut out_of_memory);
    }
    out_of_memory.map_or(Ok(()), Err)?;
    Ok(Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), validity.finish())))
}

macro_rules! run_value {
    ($($native:ty => $type:ty),*) => {$(
        impl RunValue for Option<$native> {
            fn array(runs: &[(Self, usize)]) -> Result<ArrayRef, OutOfMemory> {
                primitive::<$type>(runs)
            }
        }
    )*};
}

run_value!(i8 => Int8Type, i16 => Int16Type, i32 => Int32Type, i64 => Int64Type);

impl RunValue for Option<bool> {
    /// Arrow's builder allocates two bits per row.
    fn array(runs: &[(Self, usize)]) -> Result<ArrayRef, OutOfMemory> {
        let all = runs.iter().flat_map(|(value, rows)| std::iter::repeat_n(*value, *rows));
        Ok(Arc::new(all.collect::<BooleanArray>()))
    }
}

impl RunValue for Option<Arc<str>> {
    fn array(runs: &[(Self, usize)]) -> Result<ArrayRef, OutOfMemory> {
        let length = |value: &Self| value.as_ref().map_or(0, |value| value.len());
        let bytes =
            runs.iter().fold(0_usize, |sum, (value, rows)| sum.saturating_add(length(value).saturating_mul(*rows)));
        if i32::try_from(bytes).is_err() {
            return Err(OutOfMemory { bytes });
        }
        let mut offsets = memory::with_capacity(rows(runs).saturating_add(1))?;
        let mut data = memory::with_capacity(bytes)?;
        let (mut validity, mut out_of_memory) = (Validity::default(), None);
        offsets.push(0);
        for (value, rows) in runs {
            for _ in 0..*rows {
                data.extend_from_slice(value.as_deref().unwrap_or_default().as_bytes());
                offsets.push(data.len() as i32);
            }
            validity.push_many(value.is_some(), *rows, &mut out_of_memory);
        }
        out_of_memory.map_or(Ok(()), Err)?;
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        Ok(Arc::new(StringArray::new(offsets, data.into(), validity.finish())))
    }
}

/// A column of runs.
#[derive(Debug)]
pub struct RunColumn<T> {
    runs: Vec<(T, usize)>,
    /// A failed allocation. The number of rows is right then, but the values of the last ones may be wrong.
    out_of_memory: Option<OutOfMemory>,
    cached: Option<(T, ArrayRef)>,
}

impl<T: RunValue> RunColumn<T> {
    /// An empty column.
    pub fn new() -> Self {
        Self { runs: Vec::new(), out_of_memory: None, cached: None }
    }

    /// Appends `rows` times `value`.
    pub fn push(&mut self, value: &T, rows: usize) {
        match self.runs.last_mut() {
            Some((last, count)) if last == value => *count = count.saturating_add(rows),
            _ => self.begin(value.clone(), rows),
        }
    }

    /// Appends one row.
    #[inline]
    pub fn push_one(&mut self, value: T) {
        match self.runs.last_mut() {
            Some((last, count)) if *last == value => *count += 1,
            _ => self.begin(value, 1),
        }
    }

    fn begin(&mut self, value: T, rows: usize) {
        if let Err(error) = memory::push(&mut self.runs, (value, rows)) {
            self.out_of_memory = Some(error);
            if let Some((_, count)) = self.runs.last_mut() {
                *count = count.saturating_add(rows);
            }
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

    /// Returns the column and leaves it empty.
    ///
    /// # Errors
    /// As [`RunValue::array`], and for rows pushed before.
    pub fn finish(&mut self) -> Result<ArrayRef, OutOfMemory> {
        let runs = std::mem::take(&mut self.runs);
        self.out_of_memory.take().map_or(Ok(()), Err)?;
        let [(value, rows)] = runs.as_slice() else { return T::array(&runs) };
        match &self.cached {
            Some((cached, array)) if cached == value && array.len() >= *rows => Ok(array.slice(0, *rows)),
            _ => {
                let array = T::array(&runs)?;
                self.cached = Some((value.clone(), Arc::clone(&array)));
                Ok(array)
            }
        }
    }
}
