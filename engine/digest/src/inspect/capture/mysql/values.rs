//! Converts values of the binary protocol to literals. Source: MySQL source documentation, "Binary
//! Protocol Value".

use dyno_protocol::bytes::Bytes;
use std::io::Write as _;

/// Flag of unsigned types, in the bytes of the type.
const UNSIGNED: u16 = 0x8000;

/// Writes the next value as a literal; `None` if the bytes hold no value of this type.
pub fn write(kind: u16, bytes: &mut Bytes<'_>, into: &mut Vec<u8>) -> Option<()> {
    let whole = |bytes: &mut Bytes<'_>, n: usize| {
        let value = bytes.little(n)?;
        let spare = 64 - 8 * n as u32;
        Some(if kind & UNSIGNED == 0 {
            i128::from((value << spare) as i64 >> spare)
        } else {
            i128::from(value)
        })
    };
    // Writing to memory does not fail.
    let _ = match kind & 0xFF {
        1 => write!(into, "{}", whole(bytes, 1)?),
        2 | 13 => write!(into, "{}", whole(bytes, 2)?),
        3 | 9 => write!(into, "{}", whole(bytes, 4)?),
        8 => write!(into, "{}", whole(bytes, 8)?),
        4 => write!(into, "{}", f32::from_bits(bytes.little(4)? as u32)),
        5 => write!(into, "{}", f64::from_bits(bytes.little(8)?)),
        6 => write!(into, "NULL"),
        7 | 10 | 12 | 14 => return moment(bytes, into),
        11 => return time(bytes, into),
        0 | 246 => return decimal(bytes.lenenc_string()?, into),
        15..=16 | 245..=255 => {
            text(bytes.lenenc_string()?, into);
            return Some(());
        }
        _ => return None,
    };
    Some(())
}

/// Writes text or bytes in single quotes, with MySQL's escapes.
pub fn text(value: &[u8], into: &mut Vec<u8>) {
    into.reserve(value.len() + 2);
    into.push(b'\'');
    for &byte in value {
        match byte {
            b'\'' | b'\\' => into.extend([b'\\', byte]),
            b'\0' => into.extend(b"\\0"),
            _ => into.push(byte),
        }
    }
    into.push(b'\'');
}

fn decimal(value: &[u8], into: &mut Vec<u8>) -> Option<()> {
    if value.iter().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(byte)) {
        into.extend_from_slice(value);
    } else {
        text(value, into);
    }
    Some(())
}

fn moment(bytes: &mut Bytes<'_>, into: &mut Vec<u8>) -> Option<()> {
    let length = bytes.byte()?;
    let mut rest = Bytes(bytes.take(length.into())?);
    let mut number = |n| rest.little(n).unwrap_or(0);
    let (year, month, day) = (number(2), number(1), number(1));
    let _ = write!(into, "'{year:04}-{month:02}-{day:02}");
    if length > 4 {
        let (hours, minutes, seconds) = (number(1), number(1), number(1));
        let _ = write!(into, " {hours:02}:{minutes:02}:{seconds:02}");
    }
    if length > 7 {
        let _ = write!(into, ".{:06}", number(4));
    }
    into.push(b'\'');
    Some(())
}

fn time(bytes: &mut Bytes<'_>, into: &mut Vec<u8>) -> Option<()> {
    let length = bytes.byte()?;
    let mut rest = Bytes(bytes.take(length.into())?);
    let mut number = |n| rest.little(n).unwrap_or(0);
    let (sign, days) = (if number(1) == 1 { "-" } else { "" }, number(4));
    let (hours, minutes, seconds) = (days * 24 + number(1), number(1), number(1));
    let _ = write!(into, "'{sign}{hours:02}:{minutes:02}:{seconds:02}");
    if length > 8 {
        let _ = write!(into, ".{:06}", number(4));
    }
    into.push(b'\'');
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_literals_as_servers_log_them() {
        for (kind, bytes, expected) in [
            (1, &b"\xFF"[..], "-1"),
            (1 | UNSIGNED, b"\xFF", "255"),
            (2, b"\x00\x80", "-32768"),
            (3, b"\x2A\0\0\0", "42"),
            (8, b"\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "-2"),
            (8 | UNSIGNED, b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "18446744073709551615"),
            (5, b"\0\0\0\0\0\0\xF8\x3F", "1.5"),
            (4, b"\0\0\x20\x40", "2.5"),
            (6, b"", "NULL"),
            (246, b"\x0512.30", "12.30"),
            (253, b"\x05a'b\\c", "'a\\'b\\\\c'"),
            (10, b"\x04\xEA\x07\x0B\x16", "'2026-11-22'"),
            (12, b"\x07\xEA\x07\x0B\x16\x08\x1E\x05", "'2026-11-22 08:30:05'"),
            (12, b"\x0B\xEA\x07\x0B\x16\x08\x1E\x05\x01\0\0\0", "'2026-11-22 08:30:05.000001'"),
            (12, b"\0", "'0000-00-00'"),
            (11, b"\x08\x01\x01\0\0\0\x02\x03\x04", "'-26:03:04'"),
            (11, b"\0", "'00:00:00'"),
        ] {
            let (mut rest, mut into) = (Bytes(bytes), vec![]);
            assert_eq!(write(kind, &mut rest, &mut into), Some(()), "{expected}");
            assert_eq!((String::from_utf8(into).unwrap().as_str(), rest.0), (expected, &b""[..]));
            for end in 0..bytes.len() {
                let _ = write(kind, &mut Bytes(&bytes[..end]), &mut vec![]);
            }
        }
    }
}
