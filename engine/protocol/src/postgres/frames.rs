//! Parses the server's messages: headers, fields and tags. Every length is checked.

use dyno_core::error::{Error, Kind, Result};
use dyno_core::workload::rows::Rows;

/// Maximum size of a parsed message, which is buffered whole, bytes. Rows are skipped in pieces
/// instead.
pub const PARSED_BYTES_MAX: usize = 1 << 20;
/// Maximum size of a skipped message, bytes: the server's own limit for one value is 1 GiB.
pub const SKIPPED_BYTES_MAX: usize = (1 << 30) + 1024;
/// Bytes of tag and length.
pub const HEADER_BYTES: usize = 5;

/// Tag and total size (including the tag) of the message at the front of `input`; `None` while its
/// header is incomplete.
pub fn header(input: &[u8]) -> Result<Option<(u8, usize)>> {
    let Some((&[tag, a, b, c, d], _)) = input.split_first_chunk::<HEADER_BYTES>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if !(4..=SKIPPED_BYTES_MAX).contains(&length) {
        return Err(rubbish(format!("a message `{}` of length {length}", tag.escape_ascii())));
    }
    Ok(Some((tag, length + 1)))
}

/// The error of a server that violated the protocol by sending `what`.
pub fn rubbish(what: impl std::fmt::Display) -> Error {
    Error::new(
        Kind::Protocol,
        format!("the server sent what PostgreSQL's protocol forbids: {what}"),
    )
    .hint("is this the port of a PostgreSQL server, and not of a proxy or another service?")
}

/// Reads a message's body from the front; every step checks the remaining length.
pub struct Body<'a>(pub &'a [u8]);

impl<'a> Body<'a> {
    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (head, tail) =
            self.0.split_at_checked(count).ok_or_else(|| rubbish("a message that ends early"))?;
        self.0 = tail;
        Ok(head)
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, tail) =
            self.0.split_first_chunk::<N>().ok_or_else(|| rubbish("a message that ends early"))?;
        self.0 = tail;
        Ok(*head)
    }

    /// One byte.
    pub fn byte(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes, big-endian.
    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// Four bytes, big-endian.
    pub fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// A C string, without its NUL.
    pub fn string(&mut self) -> Result<&'a [u8]> {
        let end = self
            .0
            .iter()
            .position(|&byte| byte == 0)
            .ok_or_else(|| rubbish("a string without an end"))?;
        let text = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Ok(text)
    }

    /// A field of an ErrorResponse or NoticeResponse: its type and text; none after the last one.
    pub fn field(&mut self) -> Result<Option<(u8, &'a [u8])>> {
        match self.byte()? {
            0 => self.end().map(|()| None),
            kind => Ok(Some((kind, self.string()?))),
        }
    }

    /// Checks that the body ends here.
    pub fn end(&self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(rubbish("a message that is too long")) }
    }
}

/// The command and the number in a CommandComplete's tag, `INSERT 0 5`.
pub fn completed(tag: &[u8]) -> (&[u8], Option<u64>) {
    let mut words = tag.split(|&byte| byte == b' ');
    let command = words.next().unwrap_or_default();
    let digits = words.next_back().filter(|word| word.iter().all(u8::is_ascii_digit));
    let count = digits.map(|digits| {
        digits.iter().fold(0_u64, |sum, &digit| {
            sum.saturating_mul(10).saturating_add(u64::from(digit - b'0'))
        })
    });
    (command, count)
}

/// Rows changed, from a CommandComplete's tag; 0 for tags without a count or with a count of rows
/// returned. `COPY 7` counts in a bulk load only, since `COPY TO` has the same tag.
pub fn affected(tag: &[u8], bulk: bool) -> u64 {
    let (command, count) = completed(tag);
    match command {
        b"INSERT" | b"UPDATE" | b"DELETE" | b"MERGE" => count.unwrap_or(0),
        b"COPY" if bulk => count.unwrap_or(0),
        _ => 0,
    }
}

/// Name and value from a ParameterStatus.
pub fn reported(body: &[u8]) -> Result<(&[u8], &[u8])> {
    let mut body = Body(body);
    let (name, value) = (body.string()?, body.string()?);
    body.end()?;
    Ok((name, value))
}

/// Whether backslashes escape in plain literals; none if the parameter is another one.
pub fn backslashes(name: &[u8], value: &[u8]) -> Option<bool> {
    (name == b"standard_conforming_strings").then_some(value != b"on")
}

/// Passes the values of a DataRow in text format to `put`, in order; `None` is NULL.
pub fn values<'a>(body: &'a [u8], put: &mut dyn FnMut(Option<&'a [u8]>)) -> Result<()> {
    let mut body = Body(body);
    let columns = body.u16()?;
    for _ in 0..columns {
        let length = body.i32()?;
        put(match usize::try_from(length) {
            Ok(length) => Some(body.bytes(length)?),
            Err(_) if length == -1 => None,
            Err(_) => return Err(rubbish(format!("a value of length {length}"))),
        });
    }
    body.end()
}

/// Adds the values of a DataRow in text format to `rows`.
pub fn kept_row(body: &[u8], rows: &mut Rows) -> Result<()> {
    let mut body = Body(body);
    rows.row();
    for _ in 0..body.u16()? {
        let length = body.i32()?;
        match usize::try_from(length) {
            Ok(length) => rows.value(Some(body.bytes(length)?)),
            Err(_) if length == -1 => rows.value(None),
            Err(_) => return Err(rubbish(format!("a value of length {length}"))),
        }
    }
    if rows.is_too_long() {
        return Err(rubbish("more rows than the workload may keep (1 MB)"));
    }
    body.end()
}

/// Reads the values of a DataRow in text format into `row`.
pub fn row(body: &[u8], row: &mut Vec<Option<String>>) -> Result<()> {
    values(body, &mut |value| {
        row.push(value.map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
    })
}
