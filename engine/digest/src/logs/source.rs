//! Sources of bytes: files, compressed files, standard input, a file that grows.
//!
//! All sources are read in blocks, not mapped: from the page cache, reads cost a tenth of parsing the
//! log, and a file that shrinks during the read ends early instead of ending the process.
//! gzip (RFC 1952) and zstd (RFC 8878) are detected by their first bytes and decompressed on a thread of
//! their own, ahead of the readers.

use dyno_core::Result;
use dyno_core::error::{Error, Kind};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

/// Bytes that are decompressed at a time.
const BLOCK: usize = 256 << 10;
/// Blocks that are decompressed ahead.
const AHEAD: usize = 8;
/// Bytes remembered of a followed file, to detect that another log has replaced its content.
const TRACE: usize = 64;
/// Interval at which a waiting reader checks for more of a log and for the stop flag.
pub const PATIENCE: Duration = Duration::from_millis(100);
/// Longest wait for a FIFO's writer, after which the FIFO is refused.
pub const WRITER_WAIT: Duration = Duration::from_secs(30);

/// The result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// Number of bytes read, at least one.
    Bytes(usize),
    /// No bytes now; more may come.
    Nothing,
    /// Another file replaced the followed one: the bytes so far are a log of their own.
    Renewed,
    /// The end of the source.
    End,
}

/// Progress of a source.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes of the file read so far (compressed ones, if the file is compressed).
    pub read: AtomicU64,
}

/// A sequential source of a log's bytes.
pub struct Source {
    from: From,
    /// Bytes already read for detection, returned first.
    head: Vec<u8>,
    /// Why the log ended early, if it did.
    pub damage: Option<&'static str>,
    /// Bytes read so far.
    pub progress: Arc<Progress>,
    /// Size of the file, bytes; `None` for standard input, pipes and followed files.
    pub size: Option<u64>,
}

enum From {
    Plain(Plain),
    Packed(Packed),
    Growing(Growing),
}

/// A file or a pipe whose reads can be stopped at any time.
struct Plain {
    file: File,
    /// Whether reads may block.
    waits: bool,
    stop: &'static AtomicBool,
    progress: Arc<Progress>,
}

impl Plain {
    fn give(&mut self, into: &mut [u8]) -> io::Result<Given> {
        if self.waits && !is_ready(self.file.as_raw_fd()) {
            return Ok(Given::Nothing);
        }
        match self.file.read(into) {
            Ok(0) => Ok(Given::End),
            Ok(count) => {
                self.progress.read.fetch_add(count as u64, Ordering::Relaxed);
                Ok(Given::Bytes(count))
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Given::Nothing),
            Err(error) => Err(error),
        }
    }
}

/// For decompressors, which know only blocking reads. Returns 0 once stopped.
impl Read for Plain {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(0);
            }
            match self.give(into)? {
                Given::Bytes(count) => return Ok(count),
                Given::End | Given::Renewed => return Ok(0),
                Given::Nothing => {}
            }
        }
    }
}

/// Whether a read would not block; waits up to [`PATIENCE`] for that.
fn is_ready(fd: RawFd) -> bool {
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one structure, which lives through the call.
    unsafe { libc::poll(&raw mut poll, 1, PATIENCE.as_millis() as libc::c_int) > 0 }
}

/// The supported compression of a file, from its first bytes.
fn packed_by(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x1F, 0x8B, ..] => Some("gzip"),
        [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Some("zstd"),
        _ => None,
    }
}

/// An unsupported compression and a command that decompresses it, from a file's first bytes.
pub fn packed_otherwise(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let is_bzip2 = head.starts_with(b"BZh") && head.get(4..10) == Some(b"1AY&SY");
    match head {
        [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Some(("xz", "xz -dc LOG")),
        [0x04, 0x22, 0x4D, 0x18, ..] => Some(("lz4", "lz4 -dc LOG")),
        [b'P', b'K', 3, 4, ..] => Some(("zip", "unzip -p LOG")),
        [b'7', b'z', 0xBC, 0xAF, 0x27, 0x1C, ..] => Some(("7z", "7z x -so LOG")),
        _ if is_bzip2 => Some(("bzip2", "bzip2 -dc LOG")),
        _ => None,
    }
}

/// Blocks that a thread decompresses.
struct Packed {
    blocks: Receiver<io::Result<Vec<u8>>>,
    spare: SyncSender<Vec<u8>>,
    block: Vec<u8>,
    at: usize,
}

impl Packed {
    fn new(mut unpack: Box<dyn Read + Send>) -> Result<Self> {
        let (send, blocks) = sync_channel(AHEAD);
        let (spare, spares) = sync_channel::<Vec<u8>>(AHEAD + 2);
        let work = move || {
            loop {
                let mut block = spares.try_recv().unwrap_or_default();
                block.resize(BLOCK, 0);
                let read = fill(&mut unpack, &mut block);
                let is_last = !matches!(read, Ok((BLOCK, None)));
                let (count, error) = match read {
                    Ok((count, error)) => (count, error),
                    Err(error) => (0, Some(error)),
                };
                block.truncate(count);
                if (count > 0 && send.send(Ok(block)).is_err()) || is_last {
                    if let Some(error) = error {
                        // The receiver is gone: the error has no reader.
                        let _ = send.send(Err(error));
                    }
                    return;
                }
            }
        };
        std::thread::Builder::new().name("unpack".to_owned()).spawn(work).map_err(|error| {
            Error::new(Kind::System, format!("no thread for unpacking: {error}"))
                .hint("raise `ulimit -u`")
        })?;
        Ok(Self { blocks, spare, block: Vec::new(), at: 0 })
    }

    fn give(&mut self, into: &mut [u8]) -> io::Result<Given> {
        if self.at == self.block.len() {
            let next = match self.blocks.recv_timeout(PATIENCE) {
                Ok(next) => next?,
                Err(RecvTimeoutError::Timeout) => return Ok(Given::Nothing),
                Err(RecvTimeoutError::Disconnected) => return Ok(Given::End),
            };
            let done = std::mem::replace(&mut self.block, next);
            // A full channel has spare blocks enough.
            let _ = self.spare.try_send(done);
            self.at = 0;
        }
        let count = into.len().min(self.block.len() - self.at);
        into[..count].copy_from_slice(&self.block[self.at..self.at + count]);
        self.at += count;
        Ok(Given::Bytes(count))
    }
}

/// Reads until the block is full, the end or an error; an error comes with the count read before it.
fn fill(from: &mut dyn Read, block: &mut [u8]) -> io::Result<(usize, Option<io::Error>)> {
    let mut count = 0;
    while count < block.len() {
        match from.read(&mut block[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Ok((count, Some(error))),
        }
    }
    Ok((count, None))
}

/// A file that grows and may be replaced by another of its name, as `tail -F` follows it, or be truncated
/// and rewritten.
struct Growing {
    path: PathBuf,
    file: File,
    /// Bytes returned of this file.
    at: u64,
    /// The last bytes returned, up to [`TRACE`].
    last: Vec<u8>,
    progress: Arc<Progress>,
}

impl Growing {
    fn new(path: &str, file: File, progress: Arc<Progress>) -> Self {
        Self { path: Path::new(path).to_owned(), file, at: 0, last: Vec::new(), progress }
    }

    fn give(&mut self, into: &mut [u8]) -> io::Result<Given> {
        let count = match self.file.read_at(into, self.at) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Given::Nothing),
            other => other?,
        };
        // Checked after the read: it then detects any truncation before the read.
        if !self.is_as_it_was()? {
            return Ok(self.renew());
        }
        if count > 0 {
            self.took(&into[..count]);
            return Ok(Given::Bytes(count));
        }
        let mine = self.file.metadata()?;
        // Between rename and create no file has that name: wait for it.
        let is_same = std::fs::metadata(&self.path)
            .map_or(true, |there| (there.dev(), there.ino()) == (mine.dev(), mine.ino()));
        Ok(if is_same { Given::Nothing } else { self.renew() })
    }

    fn took(&mut self, bytes: &[u8]) {
        self.at += bytes.len() as u64;
        self.progress.read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.last.extend_from_slice(&bytes[bytes.len().saturating_sub(TRACE)..]);
        self.last.drain(..self.last.len().saturating_sub(TRACE));
    }

    /// Whether the file still has the last returned bytes at their offset.
    fn is_as_it_was(&self) -> io::Result<bool> {
        let (mut there, count) = ([0; TRACE], self.last.len());
        match self.file.read_exact_at(&mut there[..count], self.at - count as u64) {
            Ok(()) => Ok(self.last == there[..count]),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Continues with the file that has the name now, from its start.
    fn renew(&mut self) -> Given {
        let Ok(file) = File::open(&self.path) else { return Given::Nothing };
        (self.file, self.at) = (file, 0);
        self.last.clear();
        Given::Renewed
    }
}

fn refused(path: &str, error: &io::Error) -> Error {
    Error::new(Kind::Plan, format!("{path}: {error}"))
        .hint("a log is a file that this user may read; `-` is standard input")
}

/// Opens a log without reading from it. `-` is standard input.
///
/// # Errors
/// [`Kind::Plan`] if it cannot be read, or is a FIFO that no process opens for writing within
/// [`WRITER_WAIT`].
pub fn open(path: &str) -> Result<File> {
    let file = if path == "-" {
        use std::os::fd::AsFd;
        io::stdin().as_fd().try_clone_to_owned().map(File::from)
    } else if std::fs::metadata(path).is_ok_and(|about| about.file_type().is_fifo()) {
        opened_by_both(path, WRITER_WAIT)
    } else {
        File::open(path)
    };
    file.map_err(|error| refused(path, &error))
}

/// Opens a FIFO within a time limit: the system waits for its writer without limit (fifo(7)).
fn opened_by_both(path: &str, within: Duration) -> io::Result<File> {
    let (done, opened) = channel();
    let name = path.to_owned();
    thread::spawn(move || done.send(File::open(name)));
    opened.recv_timeout(within).unwrap_or_else(|_| {
        let what = format!("a FIFO that no process opened for writing within {within:?}");
        Err(io::Error::new(io::ErrorKind::TimedOut, what))
    })
}

impl Source {
    /// Reads an open log. With `follows` it does not end until `stop` is set.
    ///
    /// # Errors
    /// [`Kind::Plan`] if it cannot be read, or if `follows` and it is not an uncompressed regular file.
    pub fn new(path: &str, file: File, follows: bool, stop: &'static AtomicBool) -> Result<Self> {
        let refused = |error: &io::Error| refused(path, error);
        let about = file.metadata().map_err(|error| refused(&error))?;
        if about.is_dir() {
            return Err(refused(&io::Error::from(io::ErrorKind::IsADirectory)));
        }
        let kind = about.file_type();
        let progress = Arc::new(Progress::default());
        if follows {
            if !kind.is_file() || path == "-" {
                return Err(Error::new(Kind::Plan, format!("--follow: {path} is no file"))
                    .hint("a pipe is followed without --follow, until it ends"));
            }
            let mut head = [0; 4];
            let count = file.read_at(&mut head, 0).map_err(|error| refused(&error))?;
            if let Some(by) = packed_by(&head[..count]) {
                let what =
                    format!("--follow: {path} is packed by {by}, and packed files do not grow");
                return Err(Error::new(Kind::Plan, what)
                    .hint("without --follow it is unpacked and read to its end"));
            }
            let from = Growing::new(path, file, Arc::clone(&progress));
            return Ok(Self::of(From::Growing(from), Vec::new(), progress, None));
        }
        let size = (kind.is_file() && path != "-").then_some(about.len());
        let waits = kind.is_fifo() || kind.is_socket() || kind.is_char_device();
        let plain = Plain { file, waits, stop, progress: Arc::clone(&progress) };
        Self::unpacked(plain, progress, size).map_err(|error| refused(&error))?
    }

    fn of(from: From, head: Vec<u8>, progress: Arc<Progress>, size: Option<u64>) -> Self {
        Self { from, head, damage: None, progress, size }
    }

    /// Detects compression and starts decompression.
    fn unpacked(
        mut plain: Plain,
        progress: Arc<Progress>,
        size: Option<u64>,
    ) -> io::Result<Result<Self>> {
        let mut head = vec![0; 4];
        let (count, error) = fill(&mut plain, &mut head)?;
        if let Some(error) = error {
            return Err(error);
        }
        head.truncate(count);
        let Some(by) = packed_by(&head) else {
            return Ok(Ok(Self::of(From::Plain(plain), head, progress, size)));
        };
        let all = io::Cursor::new(head).chain(plain);
        let unpack: Box<dyn Read + Send> = if by == "zstd" {
            Box::new(zstd::stream::read::Decoder::new(all)?)
        } else {
            Box::new(flate2::bufread::MultiGzDecoder::new(io::BufReader::with_capacity(BLOCK, all)))
        };
        let packed = match Packed::new(unpack) {
            Ok(packed) => packed,
            Err(error) => return Ok(Err(error)),
        };
        Ok(Ok(Self::of(From::Packed(packed), Vec::new(), progress, size)))
    }

    /// The file, if offsets in it are offsets in the log: a named, regular, uncompressed one
    /// that is not followed.
    pub fn plain_file(&self) -> Option<&File> {
        match &self.from {
            From::Plain(plain) if self.size.is_some() => Some(&plain.file),
            _ => None,
        }
    }

    /// Whether the source is a followed file.
    pub fn is_growing(&self) -> bool {
        matches!(self.from, From::Growing(_))
    }

    /// Reads some bytes.
    ///
    /// # Errors
    /// Errors of the system. A damaged compressed log ends there, with [`Source::damage`].
    pub fn give(&mut self, into: &mut [u8]) -> io::Result<Given> {
        if !self.head.is_empty() {
            let count = into.len().min(self.head.len());
            into[..count].copy_from_slice(&self.head[..count]);
            self.head.drain(..count);
            return Ok(Given::Bytes(count));
        }
        match &mut self.from {
            From::Plain(plain) => {
                let given = plain.give(into)?;
                let read = self.progress.read.load(Ordering::Relaxed);
                if given == Given::End && self.size.is_some_and(|size| read < size) {
                    self.damage = Some("the file became shorter while it was read");
                }
                Ok(given)
            }
            From::Packed(packed) => packed.give(into).or_else(|error| match error.kind() {
                io::ErrorKind::InvalidData
                | io::ErrorKind::InvalidInput
                | io::ErrorKind::UnexpectedEof
                | io::ErrorKind::Other => {
                    self.damage = Some("the packed file is damaged or ends early");
                    Ok(Given::End)
                }
                _ => Err(error),
            }),
            From::Growing(growing) => growing.give(into),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    static NEVER: AtomicBool = AtomicBool::new(false);

    /// All bytes available now, and whether another log follows them.
    fn given(source: &mut Source) -> (String, bool) {
        let (mut all, mut into) = (String::new(), [0; 1000]);
        loop {
            match source.give(&mut into).unwrap() {
                Given::Bytes(count) => all += std::str::from_utf8(&into[..count]).unwrap(),
                other => return (all, other == Given::Renewed),
            }
        }
    }

    #[test]
    fn a_fifo_is_read_if_somebody_writes_it() {
        let place = tempfile::tempdir().unwrap();
        let fifo = |name| {
            let path = place.path().join(name);
            assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
            path.to_str().unwrap().to_owned()
        };
        let refused = opened_by_both(&fifo("nobodys"), Duration::ZERO).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::TimedOut);
        let path = fifo("ours");
        let written = path.clone();
        let writer = thread::spawn(move || std::fs::write(written, "some"));
        let mut source = Source::new(&path, open(&path).unwrap(), false, &NEVER).unwrap();
        assert_eq!(given(&mut source), ("some".to_owned(), false));
        writer.join().unwrap().unwrap();
    }

    #[test]
    fn a_file_that_is_emptied_and_outgrows_its_old_size_is_another_log() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap().to_owned();
        let mut source = Source::new(&path, open(&path).unwrap(), true, &NEVER).unwrap();
        assert_eq!(given(&mut source), (String::new(), false));
        for text in ["one", " and more".repeat(20).as_str()] {
            file.write_all(text.as_bytes()).unwrap();
            assert_eq!(given(&mut source), (text.to_owned(), false));
        }
        for size in [100, 183, 2000] {
            let anew = "y".repeat(size + 1) + &"z".repeat(size);
            std::fs::write(&path, &anew).unwrap();
            assert_eq!(given(&mut source), (String::new(), true));
            assert_eq!(given(&mut source), (anew, false));
        }
        std::fs::write(&path, "").unwrap();
        assert_eq!(given(&mut source), (String::new(), true));
        assert_eq!(given(&mut source), (String::new(), false));
    }

    #[test]
    fn packed_files_are_not_followed() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[0x1F, 0x8B, 8, 0]).unwrap();
        let path = file.path().to_str().unwrap();
        let refused = Source::new(path, open(path).unwrap(), true, &NEVER).err().unwrap();
        assert!(refused.to_string().contains("packed by gzip, and packed files do not grow"));
    }
}
