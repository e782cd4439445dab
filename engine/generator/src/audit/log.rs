//! `audit.log`: the outcomes that clients saw, in records of [`RECORD_BYTES`] bytes, little-endian.
//! Also the file of [`history.log`](super::history), whose records are of another [`Form`].
//!
//! The first record is the form's magic, the begin of the measured phase on the engine's clock (u64,
//! nanoseconds) and zeros. Each further one is: session (u32), attempt (u16, at most
//! 65535), outcome (u8), 0 (u8), n (u64), time of the outcome on the same clock (u64, nanoseconds).
//!
//! Load threads append to one file, each from a buffer of its own that it writes when it is full and
//! with the first outcome that comes `FLUSH_NS` after the last write. A killed engine therefore loses
//! the outcomes of its last moment: rows without an outcome, never outcomes without a row.

use dyno_core::error::{Error, Kind, Result};
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Form of a log: the name of its file, and its records.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// Name of the file.
    pub name: &'static str,
    /// Its first bytes.
    pub magic: [u8; 8],
    /// Bytes of a record.
    pub record_bytes: usize,
}

/// Bytes of a record of an outcome.
pub const RECORD_BYTES: usize = 24;
/// Outcomes of transactions that write.
pub const OUTCOMES: Form =
    Form { name: "audit.log", magic: *b"dynoaud1", record_bytes: RECORD_BYTES };
/// Size at which a buffer is written. It holds whole records.
const BUFFER_BYTES: usize = 64 << 10;
/// Age of a buffer at which the next outcome writes it.
const FLUSH_NS: u64 = 100_000_000;

/// What a client knows about an attempt that carries an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Outcome {
    /// The server confirmed the COMMIT.
    Acknowledged = 1,
    /// It cannot have been committed: the COMMIT was not sent, or refused by an error that says so.
    Failed = 2,
    /// The COMMIT was sent, and nothing certain was heard of it.
    Unknown = 3,
}

/// An attempt of a transaction, as its row has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Session.
    pub session: u32,
    /// Number of the transaction in its session.
    pub n: u64,
    /// Number of the attempt, from 0.
    pub attempt: u32,
}

impl Identity {
    /// The first 8 bytes of a record: session, attempt, outcome, and a byte of the log's own.
    pub fn head(self, outcome: Outcome, own: u8) -> [u8; 8] {
        let mut head = [0; 8];
        let attempt = u16::try_from(self.attempt).unwrap_or(u16::MAX);
        head[..4].copy_from_slice(&self.session.to_le_bytes());
        head[4..6].copy_from_slice(&attempt.to_le_bytes());
        head[6..].copy_from_slice(&[outcome as u8, own]);
        head
    }
}

/// The file, before load threads open it.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    form: Form,
}

impl LogFile {
    /// Creates the file in `directory`, empty.
    ///
    /// # Errors
    /// [`Kind::System`].
    pub fn create(directory: &Path, form: Form) -> Result<Self> {
        let path = directory.join(form.name);
        File::create(&path).map_err(|error| refused(&path, &error))?;
        Ok(Self { path, form })
    }

    /// Writes the first record. Must precede the first outcome.
    ///
    /// # Errors
    /// [`Kind::System`].
    pub fn begin(&self, measure_ns: u64) -> Result<()> {
        let mut record = vec![0; self.form.record_bytes];
        record[..8].copy_from_slice(&self.form.magic);
        record[8..16].copy_from_slice(&measure_ns.to_le_bytes());
        let written = self.append().and_then(|mut file| file.write_all(&record));
        written.map_err(|error| refused(&self.path, &error))
    }

    /// A thread's writer.
    ///
    /// # Errors
    /// [`Kind::System`].
    pub fn writer(&self) -> Result<Log> {
        let file = self.append().map_err(|error| refused(&self.path, &error))?;
        let buffer = Buffer { file, bytes: Vec::new(), written_ns: 0, failure: None };
        Ok(Log { path: self.path.clone(), buffer: RefCell::new(buffer) })
    }

    fn append(&self) -> io::Result<File> {
        OpenOptions::new().append(true).open(&self.path)
    }
}

/// One thread's writer. Writes of a thread contain whole records only, so that those of several
/// threads never mix.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    buffer: RefCell<Buffer>,
}

#[derive(Debug)]
struct Buffer {
    file: File,
    bytes: Vec<u8>,
    written_ns: u64,
    failure: Option<io::Error>,
}

impl Log {
    /// Appends an outcome. The thread learns by [`close`](Self::close) that the file could not be
    /// written.
    pub fn append(&self, identity: Identity, outcome: Outcome, now_ns: u64) {
        let mut record = [0; RECORD_BYTES];
        record[..8].copy_from_slice(&identity.head(outcome, 0));
        record[8..16].copy_from_slice(&identity.n.to_le_bytes());
        record[16..].copy_from_slice(&now_ns.to_le_bytes());
        self.push(&record, now_ns);
    }

    /// Appends whole records, which stay together.
    pub fn push(&self, records: &[u8], now_ns: u64) {
        let mut buffer = self.buffer.borrow_mut();
        buffer.bytes.extend_from_slice(records);
        let is_old = now_ns.saturating_sub(buffer.written_ns) >= FLUSH_NS;
        if is_old || buffer.bytes.len() >= BUFFER_BYTES {
            buffer.written_ns = now_ns;
            buffer.write();
        }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// [`Kind::System`] if any write has failed: outcomes are missing.
    pub fn close(&self) -> Result<()> {
        let mut buffer = self.buffer.borrow_mut();
        buffer.write();
        buffer.failure.as_ref().map_or(Ok(()), |error| Err(refused(&self.path, error)))
    }
}

impl Buffer {
    fn write(&mut self) {
        if self.failure.is_none() {
            self.failure = self.file.write_all(&self.bytes).err();
        }
        self.bytes.clear();
    }
}

fn refused(path: &Path, error: &io::Error) -> Error {
    Error::new(Kind::System, format!("cannot write {}: {error}", path.display()))
        .hint("free space on the disk of the run directory; an audit writes 24 bytes a transaction, or 64 an operation")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(n: u64) -> Identity {
        Identity { session: 0x0102_0304, n, attempt: 2 }
    }

    #[test]
    fn records_have_the_layout_that_readers_know() {
        let directory = tempfile::tempdir().unwrap();
        let file = LogFile::create(directory.path(), OUTCOMES).unwrap();
        file.begin(9).unwrap();
        let log = file.writer().unwrap();
        log.append(identity(6), Outcome::Unknown, 7);
        log.close().unwrap();
        let bytes = std::fs::read(directory.path().join("audit.log")).unwrap();
        let mut expected = b"dynoaud1".to_vec();
        expected.extend([9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        expected.extend([4, 3, 2, 1, 2, 0, 3, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes, expected);
    }

    #[test]
    fn a_buffer_is_written_when_it_is_full_or_old() {
        let directory = tempfile::tempdir().unwrap();
        let file = LogFile::create(directory.path(), OUTCOMES).unwrap();
        let path = directory.path().join("audit.log");
        let records = || std::fs::metadata(&path).unwrap().len() as usize / RECORD_BYTES;
        let log = file.writer().unwrap();
        log.append(identity(0), Outcome::Acknowledged, FLUSH_NS);
        assert_eq!(records(), 1, "the first one comes long after the begin");
        let full = BUFFER_BYTES.div_ceil(RECORD_BYTES);
        (0..full - 1).for_each(|n| log.append(identity(n as u64), Outcome::Failed, FLUSH_NS));
        assert_eq!(records(), 1);
        log.append(identity(0), Outcome::Failed, FLUSH_NS);
        assert_eq!(records(), 1 + full);
        log.append(identity(0), Outcome::Failed, 2 * FLUSH_NS - 1);
        assert_eq!(records(), 1 + full);
        log.append(identity(0), Outcome::Failed, 2 * FLUSH_NS);
        assert_eq!(records(), 3 + full);
    }

    #[test]
    fn a_log_that_cannot_be_written_says_so_at_its_end() {
        let path = PathBuf::from("/dev/full");
        let log = LogFile { path, form: OUTCOMES }.writer().unwrap();
        log.append(identity(0), Outcome::Acknowledged, FLUSH_NS);
        let error = log.close().unwrap_err();
        assert!(error.what.starts_with("cannot write /dev/full: "), "{error}");
    }
}
