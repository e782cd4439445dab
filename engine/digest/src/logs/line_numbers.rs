//! Finds the line numbers of bytes that no format understood. Rereads the file only if there are any.

use crate::document::NotUnderstood;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Whether a log of this format is text: binary logs and captures have no lines.
fn has_lines(format: &str) -> bool {
    !(format.ends_with("binlog") || format.ends_with("capture"))
}

/// Sets the line number of each piece, from 1. Leaves `None` if the file is unreadable or has no lines.
pub fn number(file: &File, format: &str, pieces: &mut [NotUnderstood]) {
    if !has_lines(format) {
        return;
    }
    let mut last = pieces.iter_mut();
    let Some(mut next) = last.next() else { return };
    let (mut at, mut line, mut read) = (0_u64, 1_u64, 0_u64);
    let mut block = vec![0; 256 << 10];
    loop {
        let count = match file.read_at(&mut block, read) {
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        read += count as u64;
        let mut bytes = &block[..count];
        while next.offset <= at + bytes.len() as u64 {
            let before = (next.offset - at) as usize;
            line += memchr::memchr_iter(b'\n', &bytes[..before]).count() as u64;
            next.line = Some(line);
            (at, bytes) = (next.offset, &bytes[before..]);
            let Some(piece) = last.next() else { return };
            next = piece;
        }
        if count == 0 {
            return;
        }
        line += memchr::memchr_iter(b'\n', bytes).count() as u64;
        at += bytes.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_from_one() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "a\nbb\n\nccc").unwrap();
        let piece = |offset| NotUnderstood { offset, line: None, bytes: 1, why: String::new() };
        let mut pieces = [0, 2, 2, 5, 6, 9].map(piece);
        number(file.as_file(), "mysql-binlog", &mut pieces);
        assert!(pieces.iter().all(|piece| piece.line.is_none()));
        number(file.as_file(), "mysql-slow", &mut pieces);
        assert_eq!(pieces.map(|p| p.line.unwrap()), [1, 2, 2, 3, 4, 4]);
    }
}
