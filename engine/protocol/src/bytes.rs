//! Reads numbers and strings from the front of a slice. `None`: the slice ends too early.

/// The unread rest of a slice.
#[derive(Debug, Clone, Copy)]
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    /// The next `n` bytes.
    #[inline]
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    /// One byte.
    #[inline]
    pub fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    /// A little-endian number of `n` bytes, 8 at most.
    #[inline]
    pub fn little(&mut self, n: usize) -> Option<u64> {
        let mut whole = [0; 8];
        whole.get_mut(..n)?.copy_from_slice(self.take(n)?);
        Some(u64::from_le_bytes(whole))
    }

    /// A big-endian number of `n` bytes, 8 at most.
    #[inline]
    pub fn big(&mut self, n: usize) -> Option<u64> {
        Some(self.take(n)?.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// A number of `n` bytes, big-endian if `is_big`.
    #[inline]
    pub fn number(&mut self, n: usize, is_big: bool) -> Option<u64> {
        if is_big { self.big(n) } else { self.little(n) }
    }

    /// Two bytes, little-endian.
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        self.little(2).map(|number| number as u16)
    }

    /// Four bytes, little-endian.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.little(4).map(|number| number as u32)
    }

    /// Eight bytes, little-endian.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.little(8)
    }

    /// MySQL's length-encoded integer. `None` also for the markers 0xfb (NULL) and 0xff.
    #[inline]
    pub fn lenenc(&mut self) -> Option<u64> {
        match self.byte()? {
            short @ 0..=250 => Some(short.into()),
            252 => self.little(2),
            253 => self.little(3),
            254 => self.little(8),
            _ => None,
        }
    }

    /// MySQL's length-encoded string, or NULL (`Some(None)`).
    #[inline]
    pub fn nullable(&mut self) -> Option<Option<&'a [u8]>> {
        if self.0.first() == Some(&0xfb) {
            self.0 = &self.0[1..];
            return Some(None);
        }
        self.lenenc_string().map(Some)
    }

    /// MySQL's length-encoded string.
    #[inline]
    pub fn lenenc_string(&mut self) -> Option<&'a [u8]> {
        let length = self.lenenc()?;
        self.take(usize::try_from(length).ok()?)
    }

    /// Bytes after a one-byte length; the zero byte after them is dropped.
    #[inline]
    pub fn named(&mut self) -> Option<&'a [u8]> {
        let length = self.byte()?;
        let name = self.take(length.into())?;
        self.take(1)?;
        Some(name)
    }

    /// Bytes up to a zero byte, which is dropped.
    #[inline]
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let text = self.take(memchr::memchr(0, self.0)?)?;
        self.take(1)?;
        Some(text)
    }
}
