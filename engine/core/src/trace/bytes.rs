//! Numbers in a replay file.

/// Appends a LEB128 varint.
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number: small ones of either sign are short.
pub(super) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, (value << 1 ^ value >> 63).cast_unsigned());
}

/// Reads from the front of bytes; `None` on invalid or missing bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Front<'a>(pub &'a [u8]);

impl<'a> Front<'a> {
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for (place, &byte) in self.0.iter().enumerate().take(10) {
            // The tenth byte has room for one bit.
            if place == 9 && byte > 1 {
                return None;
            }
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                self.0 = &self.0[place + 1..];
                return Some(value);
            }
        }
        None
    }

    pub(super) fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    pub(super) fn signed(&mut self) -> Option<i64> {
        let value = self.number()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    pub(super) fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }
}
