//! Formats parameters like PostgreSQL's logs: `$1 = '7', $2 = NULL`. Binary values of known types
//! become text, others hexadecimal bytes: `'\x002a'`.

use dyno_protocol::bytes::Bytes;
use dyno_protocol::postgres::oid;
use std::io::Write as _;

/// Formats the parameters of a Bind message; `bytes` follow its two names. `types`: type OIDs of the
/// parameters; 0 or missing: unknown. `None`: the message is malformed.
pub fn parameters(mut bytes: Bytes<'_>, types: &[u32]) -> Option<Vec<u8>> {
    let count = bytes.big(2)? as usize;
    let mut formats = Bytes(bytes.take(count * 2)?);
    let formats: Vec<u64> = std::iter::from_fn(|| formats.big(2)).collect();
    let mut text = Vec::new();
    for number in 0..bytes.big(2)? as usize {
        let comma = if number == 0 { "" } else { ", " };
        // Writing to memory does not fail.
        let _ = write!(text, "{comma}${} = ", number + 1);
        let length = bytes.big(4)? as u32 as i32;
        let Ok(length) = usize::try_from(length) else {
            text.extend_from_slice(b"NULL");
            continue;
        };
        let value = bytes.take(length)?;
        let format = match formats[..] {
            [] => 0,
            [one] => one,
            _ => *formats.get(number)?,
        };
        let kind = types.get(number).copied().unwrap_or(0);
        text.push(b'\'');
        if format == 0 {
            quoted(value, &mut text);
        } else {
            binary(kind, value, &mut text);
        }
        text.push(b'\'');
    }
    Some(text)
}

fn quoted(value: &[u8], into: &mut Vec<u8>) {
    for &byte in value {
        if byte == b'\'' {
            into.push(byte);
        }
        into.push(byte);
    }
}

fn binary(kind: u32, value: &[u8], into: &mut Vec<u8>) {
    let number = Bytes(value).big(value.len().min(8)).unwrap_or(0);
    let _ = match (kind, value.len()) {
        (oid::BOOL, 1) => write!(into, "{}", if number == 0 { "f" } else { "t" }),
        (oid::INT2, 2) => write!(into, "{}", number as i16),
        (oid::INT4, 4) => write!(into, "{}", number as i32),
        (oid::INT8, 8) => write!(into, "{}", number as i64),
        (oid::OID, 4) => write!(into, "{number}"),
        (oid::FLOAT4, 4) => write!(into, "{}", f32::from_bits(number as u32)),
        (oid::FLOAT8, 8) => write!(into, "{}", f64::from_bits(number)),
        (oid::UUID, 16) => {
            for (at, byte) in value.iter().enumerate() {
                let dash = if matches!(at, 4 | 6 | 8 | 10) { "-" } else { "" };
                let _ = write!(into, "{dash}{byte:02x}");
            }
            return;
        }
        (oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::CHAR | oid::JSON, _) => {
            return quoted(value, into);
        }
        _ => {
            into.extend_from_slice(b"\\x");
            for byte in value {
                let _ = write!(into, "{byte:02x}");
            }
            return;
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_written_as_in_logs() {
        let bind = b"\0\x02\0\0\0\x01\0\x02\0\0\0\x03a'b\0\0\0\x04\0\0\0\x2A";
        let text = parameters(Bytes(bind), &[25, 23]);
        assert_eq!(text, Some(b"$1 = 'a''b', $2 = '42'".to_vec()));
        let text = parameters(Bytes(bind), &[]);
        assert_eq!(text, Some(b"$1 = 'a''b', $2 = '\\x0000002a'".to_vec()));
        let nulls = b"\0\0\0\x02\xFF\xFF\xFF\xFF\0\0\0\0";
        assert_eq!(parameters(Bytes(nulls), &[]), Some(b"$1 = NULL, $2 = ''".to_vec()));
        for end in 0..bind.len() {
            assert_eq!(parameters(Bytes(&bind[..end]), &[]), None);
        }
    }

    #[test]
    fn binary_values_of_known_types_are_text() {
        let text = |kind, value: &[u8]| {
            let mut into = vec![];
            binary(kind, value, &mut into);
            String::from_utf8(into).unwrap()
        };
        assert_eq!(text(oid::INT2, b"\xFF\xFE"), "-2");
        assert_eq!(text(oid::INT8, b"\0\0\0\0\0\0\x01\0"), "256");
        assert_eq!(text(oid::FLOAT8, b"\x3F\xF8\0\0\0\0\0\0"), "1.5");
        assert_eq!(text(oid::BOOL, b"\x01"), "t");
        let uuid = text(oid::UUID, &(0..16).collect::<Vec<u8>>());
        assert_eq!(uuid, "00010203-0405-0607-0809-0a0b0c0d0e0f");
    }
}
