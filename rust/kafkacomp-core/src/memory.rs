//! Allocations that can fail. The standard library's own end the process where memory runs out: whatever the data or
//! an argument determine the size of is allocated here.

/// This many bytes could not be allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("out of memory: cannot allocate {bytes} bytes")]
pub struct OutOfMemory {
    /// The bytes asked for.
    pub bytes: usize,
}

impl OutOfMemory {
    /// For `count` values of this type.
    pub fn of<T>(count: usize) -> Self {
        Self { bytes: count.saturating_mul(size_of::<T>()) }
    }
}

impl From<OutOfMemory> for std::io::Error {
    fn from(error: OutOfMemory) -> Self {
        Self::new(std::io::ErrorKind::OutOfMemory, error)
    }
}

/// Room for `additional` more values, and more than that if the vector grows step by step.
///
/// # Errors
/// The allocator has none.
#[inline]
pub fn reserve<T>(values: &mut Vec<T>, additional: usize) -> Result<(), OutOfMemory> {
    values.try_reserve(additional).map_err(|_| OutOfMemory::of::<T>(values.len().saturating_add(additional)))
}

/// An empty vector with room for `capacity` values.
///
/// # Errors
/// The allocator has none.
pub fn with_capacity<T>(capacity: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut values = Vec::new();
    values.try_reserve_exact(capacity).map_err(|_| OutOfMemory::of::<T>(capacity))?;
    Ok(values)
}

/// An empty vector with room for `capacity` values if there is memory for them, otherwise without any. Appending to it reports
/// the lack.
pub fn with_capacity_hint<T>(capacity: usize) -> Vec<T> {
    with_capacity(capacity).unwrap_or_default()
}

/// Appends a value.
///
/// # Errors
/// The allocator has no room for more; the value is not appended then.
#[inline]
pub fn push<T>(values: &mut Vec<T>, value: T) -> Result<(), OutOfMemory> {
    if values.len() == values.capacity() {
        reserve(values, 1)?;
    }
    values.push(value);
    Ok(())
}

/// The values in a vector of just their number.
///
/// # Errors
/// The allocator has no room for them.
pub fn collect<T>(values: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, OutOfMemory> {
    let mut collected = with_capacity(values.len())?;
    for value in values {
        push(&mut collected, value)?;
    }
    Ok(collected)
}

/// This many zeros, as the allocator gives them: pages that nobody writes to cost nothing.
///
/// # Errors
/// The allocator has none.
pub fn zeroed(length: usize) -> Result<Vec<u8>, OutOfMemory> {
    bytemuck::allocation::try_zeroed_vec(length).map_err(|()| OutOfMemory { bytes: length })
}

/// A copy of `bytes`.
///
/// # Errors
/// The allocator has no room for it.
pub fn copy_of(bytes: &[u8]) -> Result<Vec<u8>, OutOfMemory> {
    let mut copy = with_capacity(bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// Appends `bytes`.
///
/// # Errors
/// The allocator has no room for them; nothing is appended then.
#[inline]
pub fn append(values: &mut Vec<u8>, bytes: &[u8]) -> Result<(), OutOfMemory> {
    reserve(values, bytes.len())?;
    values.extend_from_slice(bytes);
    Ok(())
}

/// Makes the vector `length` bytes long, with zeros at its end if it grows.
///
/// # Errors
/// The allocator has no room for them; the vector is as it was then.
pub fn resize(values: &mut Vec<u8>, length: usize) -> Result<(), OutOfMemory> {
    if values.is_empty() && length > values.capacity() {
        *values = zeroed(length)?;
        return Ok(());
    }
    reserve(values, length.saturating_sub(values.len()))?;
    values.resize(length, 0);
    Ok(())
}

/// Room for exactly `additional` more values.
///
/// # Errors
/// The allocator has none.
pub fn reserve_exact<T>(values: &mut Vec<T>, additional: usize) -> Result<(), OutOfMemory> {
    values.try_reserve_exact(additional).map_err(|_| OutOfMemory::of::<T>(values.len().saturating_add(additional)))
}
