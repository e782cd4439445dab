//! Reads one file once, from its beginning to its end, and damaged pages again: a server may have been
//! writing them. Reads are positional: a mapped file that a server truncates would end the program.

use crate::document::Tablespace;
use crate::page::checksum::{self, Checked};
use crate::page::first::{self, First};
use crate::scan::{self, Scan, Start};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Bytes of a read: a multiple of every page size.
const CHUNK: usize = 1 << 20;
/// How often damaged pages are read again, and the time in between.
const AGAIN: usize = 3;
const PAUSE: Duration = Duration::from_millis(5);
/// Rounds of reading again in a file: a damaged one does not take hours.
const ROUNDS_MAX: usize = 600;

/// A buffer for [`read`], to be used for several files.
#[derive(Debug, Default)]
pub struct Buffer {
    chunk: Vec<u8>,
    page: Vec<u8>,
}

/// Reads a file. `Ok(None)` if `stop` was set; `on_read` gets the bytes of each read.
///
/// # Errors
/// Why the file cannot be read, or is no tablespace.
pub fn read(
    path: &Path,
    buffer: &mut Buffer,
    stop: &AtomicBool,
    on_read: &dyn Fn(u64),
) -> Result<Option<Tablespace>, String> {
    let file = open(path).map_err(|error| error.to_string())?;
    let about = file.metadata().map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("is not a regular file".to_owned());
    }
    let about = scan::File {
        path: path.to_string_lossy().into_owned(),
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        apparent_bytes: about.len(),
        allocated_bytes: about.blocks() * 512,
    };
    buffer.chunk.resize(CHUNK, 0);
    let head = read_full(&file, &mut buffer.chunk, 0).map_err(|error| error.to_string())?;
    let first = first::recognise(&buffer.chunk[..head])
        .ok_or("is not a tablespace of InnoDB: no first page, and no pages that verify")?;
    let pages = about.apparent_bytes / u64::from(first.layout.physical);
    if u64::from(first.number) + pages > u64::from(u32::MAX) {
        return Err(format!("has {pages} pages, more than a tablespace can have"));
    }
    let scan =
        pass(&file, buffer, first, pages, stop, on_read).map_err(|error| error.to_string())?;
    Ok(scan.map(|scan| scan.finish(about)))
}

/// Opens without waiting for a FIFO's writer.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path)
}

/// fcntl.h, Linux.
const O_NONBLOCK: i32 = 0o4000;

fn pass(
    file: &File,
    buffer: &mut Buffer,
    first: First,
    pages: u64,
    stop: &AtomicBool,
    on_read: &dyn Fn(u64),
) -> io::Result<Option<Scan>> {
    let First { layout, has_flags, number, space } = first;
    let mut scan = Scan::new(Start { layout, has_flags, first_page: number, space, pages });
    let size = layout.physical as usize;
    let (mut at, mut rounds) = (0, ROUNDS_MAX);
    while at < pages {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let read = read_full(file, &mut buffer.chunk, at * size as u64)?;
        // A server truncated the file.
        if read < size {
            break;
        }
        let count = ((read / size) as u64).min(pages - at) as usize;
        for page in 0..count {
            let number = number + at as u32 + page as u32;
            let bytes = &mut buffer.chunk[page * size..(page + 1) * size];
            let mut checked = checksum::check(bytes, &layout);
            let mut faults = scan.faults(number, bytes, &checked);
            if !faults.is_empty() && rounds > 0 {
                rounds -= 1;
                buffer.page.resize(size, 0);
                let offset = (at + page as u64) * size as u64;
                let again = |bytes: &[u8]| -> Option<Checked> {
                    let checked = checksum::check(bytes, &layout);
                    scan.faults(number, bytes, &checked).is_empty().then_some(checked)
                };
                if let Some(found) = read_again(file, &mut buffer.page, offset, again) {
                    bytes.copy_from_slice(&buffer.page);
                    checked = found;
                    faults.clear();
                    scan.torn(1);
                }
            }
            scan.add(number, bytes, &checked, faults);
        }
        at += count as u64;
        on_read(read as u64);
    }
    Ok(Some(scan))
}

/// Reads a damaged page again until it verifies; `None` if it never does.
fn read_again(
    file: &File,
    page: &mut [u8],
    offset: u64,
    verify: impl Fn(&[u8]) -> Option<Checked>,
) -> Option<Checked> {
    (0..AGAIN).find_map(|_| {
        std::thread::sleep(PAUSE);
        let read = read_full(file, page, offset).ok()?;
        (read == page.len()).then(|| verify(page)).flatten()
    })
}

/// Reads until the buffer is full or the file ends.
fn read_full(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
