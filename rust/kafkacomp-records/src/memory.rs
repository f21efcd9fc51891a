//! Fallible allocations. The allocations of the standard library abort the process if memory runs out, so memory whose size
//! depends on data or on an argument is allocated here.

/// An allocation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("out of memory: cannot allocate {bytes} bytes")]
pub struct OutOfMemory {
    /// The requested size in bytes.
    pub bytes: usize,
}

impl OutOfMemory {
    /// The error for `count` values of this type.
    pub fn of<T>(count: usize) -> Self {
        Self { bytes: count.saturating_mul(size_of::<T>()) }
    }
}

impl From<OutOfMemory> for std::io::Error {
    fn from(error: OutOfMemory) -> Self {
        Self::new(std::io::ErrorKind::OutOfMemory, error)
    }
}

/// Reserves room for at least `additional` more values; a vector that grows gets more, as with [`Vec::reserve`].
///
/// # Errors
/// The allocation failed.
#[inline]
pub fn reserve<T>(values: &mut Vec<T>, additional: usize) -> Result<(), OutOfMemory> {
    values.try_reserve(additional).map_err(|_| OutOfMemory::of::<T>(values.len().saturating_add(additional)))
}

/// An empty vector with room for `capacity` values.
///
/// # Errors
/// The allocation failed.
pub fn with_capacity<T>(capacity: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut values = Vec::new();
    values.try_reserve_exact(capacity).map_err(|_| OutOfMemory::of::<T>(capacity))?;
    Ok(values)
}

/// An empty vector with room for `capacity` values. If the allocation fails, it has no room; appending to it then returns the
/// error.
pub fn with_capacity_hint<T>(capacity: usize) -> Vec<T> {
    with_capacity(capacity).unwrap_or_default()
}

/// Appends a value.
///
/// # Errors
/// The allocation failed; the value is not appended.
#[inline]
pub fn push<T>(values: &mut Vec<T>, value: T) -> Result<(), OutOfMemory> {
    if values.len() == values.capacity() {
        reserve(values, 1)?;
    }
    values.push(value);
    Ok(())
}

/// Collects values into a vector that has exactly the room for them.
///
/// # Errors
/// The allocation failed.
pub fn collect<T>(values: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, OutOfMemory> {
    let mut collected = with_capacity(values.len())?;
    for value in values {
        push(&mut collected, value)?;
    }
    Ok(collected)
}

/// Allocates `length` zero bytes. The system zeroes pages when they are first accessed, so unused ones cost nothing.
///
/// # Errors
/// The allocation failed.
pub fn zeroed(length: usize) -> Result<Vec<u8>, OutOfMemory> {
    bytemuck::allocation::try_zeroed_vec(length).map_err(|()| OutOfMemory { bytes: length })
}

/// A copy of `bytes`.
///
/// # Errors
/// The allocation failed.
pub fn copy_of(bytes: &[u8]) -> Result<Vec<u8>, OutOfMemory> {
    let mut copy = with_capacity(bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// Appends `bytes`.
///
/// # Errors
/// The allocation failed; nothing is appended.
#[inline]
pub fn append(values: &mut Vec<u8>, bytes: &[u8]) -> Result<(), OutOfMemory> {
    reserve(values, bytes.len())?;
    values.extend_from_slice(bytes);
    Ok(())
}

/// Changes the length of the vector to `length`; new bytes are zero.
///
/// # Errors
/// The allocation failed; the vector is unchanged.
pub fn resize(values: &mut Vec<u8>, length: usize) -> Result<(), OutOfMemory> {
    if values.is_empty() && length > values.capacity() {
        *values = zeroed(length)?;
        return Ok(());
    }
    reserve(values, length.saturating_sub(values.len()))?;
    values.resize(length, 0);
    Ok(())
}

/// Reserves room for exactly `additional` more values.
///
/// # Errors
/// The allocation failed.
pub fn reserve_exact<T>(values: &mut Vec<T>, additional: usize) -> Result<(), OutOfMemory> {
    values.try_reserve_exact(additional).map_err(|_| OutOfMemory::of::<T>(values.len().saturating_add(additional)))
}
