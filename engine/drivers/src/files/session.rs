//! One session: its own buffer, and files that all sessions share.

use super::buffer::Buffer;
use super::errors::{cause, code, deadline, server_error};
use super::open::{self, Flags};
use super::{Call, Files, Opened};
use dyno_core::driver::{Blocking, Reply, Task};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::random::rng::Rng;
use dyno_core::request::{FileSet, FileVerb};
use dyno_core::workload::{Op, Transaction, Value};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Bytes per write when files are created.
const FILL_BYTES: u64 = 1 << 20;

/// A session on files.
pub struct FilesSession {
    directory: PathBuf,
    calls: Arc<[Call]>,
    opened: Arc<Opened>,
    /// Random at first; then the data of the last read, which later writes send.
    buffer: Buffer,
    is_stopped: Arc<AtomicBool>,
}

impl FilesSession {
    /// Opens the files, unless another session has.
    pub fn open(driver: &Files, session: u32) -> Result<Self> {
        let bytes = driver.calls.iter().map(|call| call.bytes()).max().unwrap_or(0);
        let mut rng = Rng::new(session.into());
        Ok(Self {
            directory: driver.directory.clone(),
            calls: Arc::clone(&driver.calls),
            opened: driver.opened()?,
            buffer: Buffer::random(bytes, &mut rng)
                .map_err(|what| Error::new(Kind::System, what))?,
            is_stopped: Arc::clone(&driver.is_stopped),
        })
    }

    fn perform(&mut self, op: &Op, tx: &Transaction) -> io::Result<Reply> {
        let call = &self.calls[usize::from(op.request)];
        let value = |at: usize| match tx.values_of(op).get(at) {
            Some(Value::Int(number)) => u64::try_from(*number).ok(),
            _ => None,
        };
        let wrong = || io::Error::from_raw_os_error(libc::EINVAL);
        let number = value(0).filter(|&file| file < call.set.files.into()).ok_or_else(wrong)?;
        let file = &self.opened.files[call.first + number as usize];
        let bytes = call.bytes();
        let fits = |offset: &u64| offset.saturating_add(bytes) <= call.set.file_bytes;
        let offset = || value(1).filter(fits).ok_or_else(wrong);
        let block = &mut self.buffer[..bytes as usize];
        let (mut rows, mut affected) = (0, 0);
        match call.verb {
            FileVerb::Read { .. } => {
                file.read(offset()?, block)?;
                rows = 1;
            }
            FileVerb::Write { .. } => {
                file.write(offset()?, block)?;
                affected = 1;
            }
            FileVerb::Sync => file.sync(false)?,
            FileVerb::SyncData => file.sync(true)?,
        }
        Ok(Reply { rows, affected, ..Reply::default() })
    }
}

impl Blocking for FilesSession {
    /// The kernel cannot cancel a call: an operation that ends after the deadline fails as well.
    fn execute(&mut self, op: &Op, tx: &Transaction, remaining: Duration) -> Result<Reply> {
        let begin = Instant::now();
        let ended = if remaining.is_zero() || self.is_stopped.load(Ordering::Relaxed) {
            None
        } else {
            Some(self.perform(op, tx))
        };
        let class = &self.calls[usize::from(op.request)].class;
        let failed = |error| Ok(Reply { error: Some(error), ..Reply::default() });
        match ended {
            Some(Err(error)) => failed(server_error(class, &error)),
            Some(Ok(reply)) if begin.elapsed() <= remaining => Ok(reply),
            _ => failed(deadline(class)),
        }
    }

    /// Files have neither tables nor transactions: nothing to do.
    fn task(&mut self, _task: Task<'_>) -> Result<Vec<Option<String>>> {
        Ok(vec![])
    }

    fn create_files(&mut self, set: &FileSet, seed: u64, told: &mut dyn FnMut(u64)) -> Result<u64> {
        let mut bytes = 0;
        for number in 0..set.files {
            let path = super::path(&self.directory, set, number);
            let failed = |error: io::Error| match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    Error::new(Kind::Plan, format!("{} exists already", path.display()))
                        .hint("nothing was touched: dbdyno writes over no file; load elsewhere")
                }
                _ => {
                    let (shown, code) = (path.display(), code(&error));
                    Error::new(Kind::System, format!("cannot make {shown}: {error} ({code})"))
                        .hint(cause(&error))
                }
            };
            let mut block =
                Buffer::new(FILL_BYTES).map_err(|what| Error::new(Kind::System, what))?;
            let file = open::new(&path, Flags::default()).map_err(failed)?;
            open::fill(&file, 0, set.file_bytes, &mut block, |part, offset| {
                let mut rng = Rng::for_row(seed, number.into(), offset / FILL_BYTES);
                super::buffer::fill(part, &mut rng);
                told(part.len() as u64);
            })
            .and_then(|_| file.sync_all())
            .map_err(failed)?;
            bytes += file.metadata().map_err(failed)?.len();
        }
        Ok(bytes)
    }
}
