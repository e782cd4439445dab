//! The buffer that a log is read into.

use std::ops::Deref;

/// Bytes, and initialised room after them. Removing bytes keeps the room, so that reusing a buffer does
/// not zero it again.
#[derive(Debug, Default)]
pub struct Buffer {
    /// The bytes, followed by the room.
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
    /// Room after the present bytes, up to `size` bytes in total.
    pub fn room(&mut self, size: usize) -> &mut [u8] {
        if self.all.len() < size {
            self.all.resize(size, 0);
        }
        &mut self.all[self.len..size.max(self.len)]
    }

    /// Adds the next `bytes` bytes of the room, which the caller has written.
    pub fn took(&mut self, bytes: usize) {
        self.len = (self.len + bytes).min(self.all.len());
    }

    /// Appends bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.room(self.len + bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// Removes the bytes after the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Removes the first `count` bytes.
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
