//! Reading little-endian numbers from the front of a slice. `None`: it ends too early.

/// What is left of some bytes.
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

    /// A number of `n` bytes, 8 at most.
    #[inline]
    pub fn uint(&mut self, n: usize) -> Option<u64> {
        let mut whole = [0; 8];
        whole.get_mut(..n)?.copy_from_slice(self.take(n)?);
        Some(u64::from_le_bytes(whole))
    }

    /// A byte.
    #[inline]
    pub fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    /// MySQL's length-encoded number.
    #[inline]
    pub fn packed(&mut self) -> Option<u64> {
        match self.byte()? {
            short @ 0..=250 => Some(short.into()),
            252 => self.uint(2),
            253 => self.uint(3),
            254 => self.uint(8),
            _ => None,
        }
    }

    /// Bytes after a length of one byte; the zero byte behind them, where there is one, is dropped.
    pub fn named(&mut self) -> Option<&'a [u8]> {
        let length = self.byte()?;
        let name = self.take(length.into())?;
        self.take(1)?;
        Some(name)
    }
}
