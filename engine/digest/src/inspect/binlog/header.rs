//! Event headers, checksums, and the format description event at the start of each file.
//!
//! Source: MySQL internals manual, "Binary Log Event Structures"; MariaDB knowledge base, "Replication
//! Protocol".

use dyno_protocol::bytes::Bytes;

/// First bytes of a binary log.
pub const MAGIC: &[u8; 4] = b"\xfebin";
/// First bytes of an encrypted binary log of MySQL.
pub const MAGIC_ENCRYPTED: &[u8; 4] = b"\xfdbin";
/// Length of an event header, bytes.
pub const HEADER: usize = 19;
/// Length of the checksum after an event, bytes.
const CHECKSUM: usize = 4;
/// The only checksum algorithm: CRC-32.
const CRC32: u8 = 1;

/// Event types that the reader handles.
#[allow(missing_docs)]
pub mod kind {
    pub const QUERY: u8 = 2;
    /// LOAD DATA of old log formats.
    pub const OLD_LOADS: [u8; 4] = [6, 8, 10, 12];
    pub const APPEND_BLOCK: u8 = 9;
    pub const FORMAT_DESCRIPTION: u8 = 15;
    pub const XID: u8 = 16;
    pub const BEGIN_LOAD_QUERY: u8 = 17;
    pub const EXECUTE_LOAD_QUERY: u8 = 18;
    pub const TABLE_MAP: u8 = 19;
    /// Row events of preliminary versions of MySQL 5.1.
    pub const ROWS_V0: std::ops::RangeInclusive<u8> = 20..=22;
    pub const ROWS_V1: std::ops::RangeInclusive<u8> = 23..=25;
    pub const INCIDENT: u8 = 26;
    pub const ROWS_QUERY: u8 = 29;
    pub const ROWS_V2: std::ops::RangeInclusive<u8> = 30..=32;
    pub const GTID: u8 = 33;
    pub const ANONYMOUS_GTID: u8 = 34;
    pub const XA_PREPARE: u8 = 38;
    pub const PARTIAL_UPDATE_ROWS: u8 = 39;
    pub const TRANSACTION_PAYLOAD: u8 = 40;
    pub const TAGGED_GTID: u8 = 42;
    /// Last type that MySQL defines.
    pub const MYSQL_LAST: u8 = 42;
    pub const ANNOTATE_ROWS: u8 = 160;
    pub const MARIADB_GTID: u8 = 162;
    pub const START_ENCRYPTION: u8 = 164;
    pub const QUERY_COMPRESSED: u8 = 165;
    pub const ROWS_COMPRESSED_V1: std::ops::RangeInclusive<u8> = 166..=168;
    pub const ROWS_COMPRESSED_V2: std::ops::RangeInclusive<u8> = 169..=171;
    /// Types that MariaDB defines.
    pub const MARIADB: std::ops::RangeInclusive<u8> = 160..=171;
}

/// Computes the CRC-32 of an event, with its header.
pub fn checksum(event: &[u8]) -> u32 {
    const KIND: usize = 4;
    const FLAGS: usize = 17;
    const IN_USE: u8 = 1;
    // The description's flag "in use" is cleared on close without a new checksum: leave it out.
    if let [head @ .., flags] = &event[..event.len().min(FLAGS + 1)]
        && head.len() == FLAGS
        && head[KIND] == kind::FORMAT_DESCRIPTION
    {
        let mut hash = crc32fast::Hasher::new();
        hash.update(head);
        hash.update(&[flags & !IN_USE]);
        hash.update(&event[FLAGS + 1..]);
        return hash.finalize();
    }
    crc32fast::hash(event)
}

/// An event header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Start of the statement, seconds since 1970.
    pub at_s: u32,
    /// Event type.
    pub kind: u8,
    /// Length of the event with header and checksum, bytes.
    pub size: usize,
}

impl Header {
    /// Parses the header at the start of `bytes`; `None` if the bytes are too few or no valid header.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(bytes.get(..HEADER)?);
        let at_s = bytes.little(4)? as u32;
        let kind = bytes.byte()?;
        bytes.take(4)?;
        let size = bytes.little(4)? as usize;
        let is_known = (1..=kind::MYSQL_LAST).contains(&kind) || kind::MARIADB.contains(&kind);
        (is_known && size >= HEADER).then_some(Self { at_s, kind, size })
    }
}

/// Format of a file's events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Description {
    /// The server's version.
    pub server: String,
    /// Length of the checksum after each event, bytes.
    pub checksum: usize,
    /// The checksum is a CRC-32.
    has_crc: bool,
    /// Lengths of post-headers, by event type less one.
    lengths: Vec<u8>,
}

impl Description {
    /// Parses the body of a format description event; `None` if its version is not 4 or it is malformed.
    pub fn read(body: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(body);
        let version = bytes.little(2)?;
        let server = bytes.take(50)?;
        bytes.take(4)?;
        let header = bytes.byte()?;
        if version != 4 || usize::from(header) != HEADER {
            return None;
        }
        let end = server.iter().position(|&b| b == 0).unwrap_or(server.len());
        let server = String::from_utf8_lossy(&server[..end]).into_owned();
        // Since MySQL 5.6.1 and MariaDB 5.3: an algorithm, and space for a checksum even if it is off.
        let (lengths, algorithm) = if writes_checksums(&server) {
            let (lengths, tail) =
                bytes.0.split_at_checked(bytes.0.len().checked_sub(CHECKSUM + 1)?)?;
            (lengths, tail[0])
        } else {
            (bytes.0, 0)
        };
        let checksum = if algorithm == 0 { 0 } else { CHECKSUM };
        Some(Self { server, checksum, has_crc: algorithm == CRC32, lengths: lengths.to_vec() })
    }

    /// Whether an event's checksum is correct; true for all events of a log without CRC-32.
    pub fn holds(&self, event: &[u8]) -> bool {
        let Some(end) = event.len().checked_sub(CHECKSUM).filter(|_| self.has_crc) else {
            return !self.has_crc;
        };
        let (bytes, said) = event.split_at(end);
        checksum(bytes).to_le_bytes() == said
    }

    /// The server's product and version.
    pub fn product(&self) -> String {
        match self.server.split_once("-MariaDB") {
            Some((version, _)) => format!("MariaDB {}", version.trim_start_matches("5.5.5-")),
            None => format!("MySQL {}", self.server),
        }
    }

    /// Length of the table ID in events of type `kind`, bytes: 4 in files of early 5.1 versions, else 6.
    pub fn table_id(&self, kind: u8) -> usize {
        match self.lengths.get(usize::from(kind).wrapping_sub(1)) {
            Some(6) => 4,
            _ => 6,
        }
    }
}

fn writes_checksums(server: &str) -> bool {
    let mut parts =
        server.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse::<u32>().unwrap_or(0));
    let version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    version >= if server.contains("MariaDB") { (5, 3, 0) } else { (5, 6, 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_with_checksums_are_told_by_their_version() {
        for (server, has) in [
            ("5.5.62-log", false),
            ("5.6.0", false),
            ("5.6.51-log", true),
            ("8.4.3", true),
            ("10.11.14-MariaDB-0+deb12u2-log", true),
            ("", false),
        ] {
            assert_eq!(writes_checksums(server), has, "{server}");
        }
    }

    #[test]
    fn the_checksum_of_a_description_does_not_tell_whether_the_log_is_in_use() {
        let mut event = [7; 40];
        event[4] = kind::FORMAT_DESCRIPTION;
        event[17] = 0;
        let closed = checksum(&event);
        event[17] = 1;
        assert_eq!(checksum(&event), closed);
        event[4] = kind::XID;
        assert_ne!(checksum(&event), closed);
    }

    #[test]
    fn a_header_of_an_unknown_type_or_an_impossible_size_is_none() {
        let mut bytes = [0; HEADER];
        bytes[4] = kind::XID;
        bytes[9] = 31;
        assert_eq!(Header::read(&bytes).map(|header| header.size), Some(31));
        bytes[4] = 99;
        assert_eq!(Header::read(&bytes), None);
        bytes[4] = kind::XID;
        bytes[9] = 18;
        assert_eq!(Header::read(&bytes), None);
        assert_eq!(Header::read(&bytes[..18]), None);
    }
}
