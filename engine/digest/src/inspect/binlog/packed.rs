//! Decompresses MariaDB's compressed events (zlib) and MySQL's compressed transactions (zstd).
//!
//! Sources: MariaDB knowledge base, "Compressing Events to Reduce Size of the Binary Log"; MySQL source
//! documentation, "Transaction_payload_event".

use dyno_protocol::bytes::Bytes;
use flate2::{Decompress, FlushDecompress, Status};

/// Maximum decompressed size of an event, bytes: MariaDB's and MySQL's maximum packet size.
const UNPACKED_MAX: usize = 1 << 30;
/// Maximum compression ratio, which bounds the memory that a wrong length can allocate.
/// (zlib's "Technical Details"; RFC 8878: a block of four bytes decompresses to 128 KiB.)
const DEFLATE_MAX: usize = 1032;
const ZSTD_MAX: usize = 32 << 10;

/// Decompresses a record of MariaDB: a byte with the algorithm and the size of the length, the
/// big-endian length, zlib data. `None` if it is malformed or decompresses to more than 1 GiB.
pub fn mariadb(record: &[u8]) -> Option<Vec<u8>> {
    let (&first, rest) = record.split_first()?;
    let is_zlib = first & 0x80 != 0 && first & 0x70 == 0;
    let (length, data) = rest.split_at_checked((first & 0x07).into())?;
    if !is_zlib || length.len() > 4 {
        return None;
    }
    let length = length.iter().fold(0_usize, |length, &byte| length << 8 | usize::from(byte));
    if length > UNPACKED_MAX.min(data.len().saturating_mul(DEFLATE_MAX)) {
        return None;
    }
    let mut unpacked = Vec::with_capacity(length);
    let status =
        Decompress::new(true).decompress_vec(data, &mut unpacked, FlushDecompress::Finish).ok()?;
    (status == Status::StreamEnd && unpacked.len() == length).then_some(unpacked)
}

/// Decompresses the events of a MySQL transaction payload. `None` as in [`mariadb`].
pub fn transaction(body: &[u8]) -> Option<Vec<u8>> {
    const END: u64 = 0;
    const COMPRESSION: u64 = 2;
    const SIZE: u64 = 3;
    let mut bytes = Bytes(body);
    let (mut is_zstd, mut size) = (true, 0);
    loop {
        let field = bytes.lenenc()?;
        if field == END {
            break;
        }
        let length = bytes.lenenc()?;
        let mut value = Bytes(bytes.take(usize::try_from(length).ok()?)?);
        match field {
            COMPRESSION => is_zstd = value.lenenc()? == 0,
            SIZE => size = value.lenenc()?,
            _ => {}
        }
    }
    let size = usize::try_from(size).ok().filter(|&size| size <= UNPACKED_MAX)?;
    if !is_zstd {
        return Some(bytes.0.to_vec());
    }
    if size > bytes.0.len().saturating_mul(ZSTD_MAX) {
        return None;
    }
    let unpacked = zstd::bulk::decompress(bytes.0, size).ok()?;
    (unpacked.len() == size).then_some(unpacked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_record_says_how_long_it_was() {
        let text = b"insert into t values (1)".repeat(20);
        let mut record = vec![0x80 | 2];
        record.extend_from_slice(&(text.len() as u16).to_be_bytes());
        let mut zlib = flate2::write::ZlibEncoder::new(record, flate2::Compression::fast());
        zlib.write_all(&text).unwrap();
        let mut record = zlib.finish().unwrap();
        assert_eq!(mariadb(&record).as_deref(), Some(&text[..]));
        record[2] ^= 1;
        assert_eq!(mariadb(&record), None, "another length");
        assert_eq!(mariadb(b"\x00abc"), None);
        assert_eq!(mariadb(b""), None);
    }

    #[test]
    fn lengths_that_nothing_unpacks_to_take_no_memory() {
        assert_eq!(mariadb(b"\x84\x3f\xff\xff\xff\x78\x01\x03\0"), None);
        // Compression type, size 2^30, end.
        assert_eq!(transaction(b"\x02\x01\0\x03\x05\xfe\0\0\0\x40\0\0\0\0\0"), None);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_are_too_strange(bytes: Vec<u8>) {
            mariadb(&bytes);
            transaction(&bytes);
        }
    }
}
