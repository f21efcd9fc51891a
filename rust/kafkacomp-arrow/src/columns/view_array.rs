//! Arrays of binary views, for which it is checked that every view is within its buffer.
//!
//! Arrow's own constructor also reads each value, to compare its first bytes with those in its view, and takes a tenth of the time
//! of a scan that copies nothing. Memory safety does not depend on these bytes, and [`ViewBuffers`](crate::columns::view_buffers::ViewBuffers)
//! takes them from the value when it makes the view.

use arrow_array::BinaryViewArray;
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::ArrowError;

use crate::columns::view_buffers::MOST_INLINE;

/// The array of `views` of values in `buffers`.
///
/// # Errors
/// None that data can cause: that of Arrow's constructor, if a view is not within its buffer or `nulls` has another length.
pub fn view_array(
    views: ScalarBuffer<u128>,
    buffers: Vec<Buffer>,
    nulls: Option<NullBuffer>,
) -> Result<BinaryViewArray, ArrowError> {
    let have_validity = nulls.as_ref().is_none_or(|nulls| nulls.len() == views.len());
    if cfg!(debug_assertions) || !have_validity || !are_within(&views, &buffers) {
        return BinaryViewArray::try_new(views, buffers, nulls);
    }
    // SAFETY: every view that is not inline is within its buffer, and there are as many bits of validity as views. Any bytes are
    // a valid binary value, and an inline one is part of its view.
    #[expect(unsafe_code, reason = "Arrow's safe constructor reads every value")]
    Ok(unsafe { BinaryViewArray::new_unchecked(views, buffers, nulls) })
}

/// Whether every value is inline or within the buffer that its view names.
fn are_within(views: &[u128], buffers: &[Buffer]) -> bool {
    views.iter().all(|&view| {
        let (length, index, offset) = (view as u32, (view >> 64) as u32, (view >> 96) as u32);
        let end = u64::from(offset).wrapping_add(u64::from(length));
        length <= MOST_INLINE as u32 || buffers.get(index as usize).is_some_and(|buffer| end <= buffer.len() as u64)
    })
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::make_view;

    use super::*;

    #[test]
    fn only_views_within_their_buffers() {
        let buffers = [Buffer::from(vec![7_u8; 40]), Buffer::from(vec![7_u8; 20])];
        let value = [7; 20];
        for (index, offset, is_within) in
            [(0, 0, true), (0, 20, true), (0, 21, false), (1, 0, true), (1, 1, false), (2, 0, false)]
        {
            let views = [0, make_view(&value[..12], 9, 9), make_view(&value, index, offset)];
            assert_eq!(are_within(&views, &buffers), is_within, "{index} {offset}");
            let array = view_array(ScalarBuffer::from(views.to_vec()), buffers.to_vec(), None);
            assert_eq!(array.is_ok(), is_within, "{index} {offset}");
        }
        let views = ScalarBuffer::from(vec![make_view(&value, 0, u32::MAX)]);
        assert!(view_array(views, buffers.to_vec(), None).is_err());
        let views = ScalarBuffer::from(vec![0]);
        assert!(view_array(views, Vec::new(), Some(NullBuffer::new_null(2))).is_err());
    }
}
