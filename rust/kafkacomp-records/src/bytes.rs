//! Big-endian fields of data that begin with a header of a fixed size.
//!
//! [`WithHeader::new`] checks once that the header is there. The compiler checks the place of every field against the size of
//! the header, so that reading and writing one cannot fail.

/// Data that begin with a header of `N` bytes.
#[derive(Debug, Clone, Copy)]
pub struct WithHeader<'a, const N: usize> {
    header: &'a [u8; N],
    data: &'a [u8],
}

impl<'a, const N: usize> WithHeader<'a, N> {
    /// A view of `data`; `None` if they are shorter than the header.
    #[inline]
    pub fn new(data: &'a [u8]) -> Option<Self> {
        Some(Self { header: data.first_chunk()?, data })
    }

    /// All bytes, the header included.
    #[inline]
    pub fn data(self) -> &'a [u8] {
        self.data
    }

    /// The bytes from byte `AT` of the header to the end of the data.
    #[inline]
    pub fn tail<const AT: usize>(self) -> &'a [u8] {
        const { assert!(AT <= N, "the tail begins outside of the header") };
        &self.data[AT..]
    }

    /// The bytes of the header.
    #[inline]
    pub fn header(self) -> &'a [u8] {
        self.header
    }

    /// The bytes after the header.
    #[inline]
    pub fn body(self) -> &'a [u8] {
        self.tail::<N>()
    }

    #[inline]
    pub fn i8<const AT: usize>(self) -> i8 {
        i8::from_be_bytes(field::<AT, 1, N>(self.header))
    }

    #[inline]
    pub fn i16<const AT: usize>(self) -> i16 {
        i16::from_be_bytes(field::<AT, 2, N>(self.header))
    }

    #[inline]
    pub fn i32<const AT: usize>(self) -> i32 {
        i32::from_be_bytes(field::<AT, 4, N>(self.header))
    }

    #[inline]
    pub fn u32<const AT: usize>(self) -> u32 {
        u32::from_be_bytes(field::<AT, 4, N>(self.header))
    }

    #[inline]
    pub fn i64<const AT: usize>(self) -> i64 {
        i64::from_be_bytes(field::<AT, 8, N>(self.header))
    }
}

/// Data whose header of `N` bytes may be changed.
#[derive(Debug)]
pub struct WithHeaderMut<'a, const N: usize> {
    data: &'a mut [u8],
}

impl<'a, const N: usize> WithHeaderMut<'a, N> {
    /// A view of `data`; `None` if they are shorter than the header.
    #[inline]
    pub fn new(data: &'a mut [u8]) -> Option<Self> {
        (data.len() >= N).then_some(Self { data })
    }

    /// The bytes from byte `AT` of the header to the end of the data.
    #[inline]
    pub fn tail<const AT: usize>(&self) -> &[u8] {
        const { assert!(AT <= N, "the tail begins outside of the header") };
        &self.data[AT..]
    }

    /// Sets the field at byte `AT`.
    #[inline]
    pub fn set<const AT: usize, const LENGTH: usize>(&mut self, bytes: [u8; LENGTH]) {
        const { assert!(AT + LENGTH <= N, "the field lies outside of the header") };
        self.data[AT..AT + LENGTH].copy_from_slice(&bytes);
    }
}

/// The field of `LENGTH` bytes at byte `AT` of a header.
#[inline]
pub fn field<const AT: usize, const LENGTH: usize, const N: usize>(header: &[u8; N]) -> [u8; LENGTH] {
    const { assert!(AT + LENGTH <= N, "the field lies outside of the header") };
    let mut field = [0; LENGTH];
    field.copy_from_slice(&header[AT..AT + LENGTH]);
    field
}

/// The number at byte `at`; `None` if the data end before it does.
#[inline]
pub fn be_i32(data: &[u8], at: usize) -> Option<i32> {
    data.get(at..)?.first_chunk().map(|bytes| i32::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::{WithHeader, WithHeaderMut, be_i32};

    #[test]
    fn fields_and_tails() {
        let mut data = [0, 0, 0, 7, 0xff, 0xfe, 9];
        assert!(WithHeader::<8>::new(&data).is_none() && WithHeaderMut::<8>::new(&mut data).is_none());
        let view = WithHeader::<6>::new(&data).unwrap();
        assert_eq!((view.i32::<0>(), view.i16::<4>(), view.i8::<5>(), view.u32::<2>()), (7, -2, -2, 0x7_fffe));
        assert_eq!((view.tail::<4>(), view.body(), view.data().len()), (&[0xff, 0xfe, 9][..], &[9][..], 7));
        let mut view = WithHeaderMut::<6>::new(&mut data).unwrap();
        view.set::<4, 2>([1, 2]);
        assert_eq!(view.tail::<3>(), [7, 1, 2, 9]);
        assert_eq!((be_i32(&data, 3), be_i32(&data, 4), be_i32(&data, usize::MAX)), (Some(0x0701_0209), None, None));
    }
}
