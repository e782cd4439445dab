//! The buffer that a log is read into.

use std::ops::Deref;

/// Some bytes, and room behind them. Room stays as it was when bytes are given up, so that buffers that are
/// used again are not cleared again.
#[derive(Debug, Default)]
pub struct Buffer {
    /// The bytes, and the room.
    all: Vec<u8>,
    len: usize,
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.all[..self.len]
    }
}

impl Buffer {
    /// Room for bytes behind those that are there, up to `size` in all.
    pub fn room(&mut self, size: usize) -> &mut [u8] {
        if self.all.len() < size {
            self.all.resize(size, 0);
        }
        &mut self.all[self.len..size.max(self.len)]
    }

    /// So many bytes have been put into the room.
    pub fn took(&mut self, bytes: usize) {
        self.len = (self.len + bytes).min(self.all.len());
    }

    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.room(self.len + bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// Gives up what is behind the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Gives up the first `count` bytes.
    pub fn remove_first(&mut self, count: usize) {
        let count = count.min(self.len);
        self.all.copy_within(count..self.len, 0);
        self.len -= count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_added_read_and_given_up_at_both_ends() {
        let mut buffer = Buffer::default();
        buffer.add(b"abc");
        buffer.room(10)[..4].copy_from_slice(b"defg");
        buffer.took(4);
        assert_eq!(&*buffer, b"abcdefg");
        assert_eq!((buffer.room(10).len(), buffer.room(3).len()), (3, 0));
        buffer.remove_first(2);
        buffer.truncate(4);
        assert_eq!(&*buffer, b"cdef");
        buffer.truncate(0);
        buffer.add(&[b'x'; 30]);
        assert_eq!(&*buffer, [b'x'; 30]);
    }
}
