//! Files and directories: which files are tablespaces, and several at a time.

use crate::document::{Event, Totals};
use crate::read::{self, Buffer};
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Directories below one that is given, deeper than any server's.
const DEPTH_MAX: usize = 8;
/// How often progress is told.
const EVERY: Duration = Duration::from_secs(1);

/// Reads files, and all tablespaces below directories, in `threads` threads; `emit` gets an event for each,
/// as it is done, and one at the end unless `stop` was set.
pub fn read_all(
    paths: &[PathBuf],
    threads: usize,
    stop: &AtomicBool,
    emit: impl Fn(Event) + Sync,
) -> Totals {
    let mut skipped = Vec::new();
    let mut files: VecDeque<PathBuf> = VecDeque::new();
    for path in paths {
        if path.is_dir() {
            walk(path, 0, &mut files, &mut skipped);
        } else {
            files.push_back(path.clone());
        }
    }
    let totals = Mutex::new(Totals::default());
    let meter = Meter::new(&files, &emit);
    let skip = |path: String, what: String| {
        lock(&totals).skipped += 1;
        emit(Event::Skipped { path, what });
    };
    skipped.into_iter().for_each(|(path, what)| skip(shown(&path), what));
    let (threads, files) = (threads.clamp(1, files.len().max(1)), Mutex::new(files));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut buffer = Buffer::default();
                while let Some(path) = lock(&files).pop_front() {
                    match read::read(&path, &mut buffer, stop, &|bytes| meter.add(bytes)) {
                        Ok(Some(tablespace)) => {
                            lock(&totals).add(&tablespace);
                            emit(Event::Tablespace { tablespace: Box::new(tablespace) });
                        }
                        Ok(None) => return,
                        Err(what) => skip(shown(&path), what),
                    }
                }
            });
        }
    });
    let totals = lock(&totals).clone();
    if !stop.load(Ordering::Relaxed) {
        emit(Event::End { totals: totals.clone() });
    }
    totals
}

/// Tells how far reading is.
struct Meter<'a> {
    total: u64,
    done: AtomicU64,
    told: Mutex<Instant>,
    emit: &'a (dyn Fn(Event) + Sync),
}

impl<'a> Meter<'a> {
    fn new(files: &VecDeque<PathBuf>, emit: &'a (dyn Fn(Event) + Sync)) -> Self {
        let bytes = |path: &PathBuf| fs::metadata(path).map_or(0, |about| about.len());
        let total = files.iter().map(bytes).sum();
        Self { total, done: AtomicU64::new(0), told: Mutex::new(Instant::now()), emit }
    }

    fn add(&self, bytes: u64) {
        let bytes = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let mut told = lock(&self.told);
        if told.elapsed() >= EVERY {
            *told = Instant::now();
            // A file may grow while it is read.
            (self.emit)(Event::Progress { bytes, bytes_total: self.total.max(bytes) });
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Finds tablespaces below a directory, in order of their names. Links are not followed.
fn walk(
    directory: &Path,
    depth: usize,
    files: &mut VecDeque<PathBuf>,
    skipped: &mut Vec<(PathBuf, String)>,
) {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => return skipped.push((directory.to_owned(), error.to_string())),
    };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let Ok(kind) = entry.file_type() else { continue };
        let (path, is_named) = (entry.path(), is_tablespace(&entry.file_name().to_string_lossy()));
        if kind.is_dir() && depth < DEPTH_MAX {
            walk(&path, depth + 1, files, skipped);
        } else if kind.is_file() && is_named {
            files.push_back(path);
        } else if kind.is_symlink() && (is_named || path.is_dir()) {
            // Else a schema on another disk would be missing without a word.
            skipped.push((path, "is a symbolic link: give its target as well".to_owned()));
        }
    }
}

/// Whether servers give tablespaces such names.
fn is_tablespace(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let is_numbered = |prefix: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    matches!(extension, Some("ibd" | "ibu" | "ibt"))
        || ["ibdata", "ibtmp", "undo", "undo_"].into_iter().any(is_numbered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tablespaces_are_known_by_their_names() {
        let yes = ["t.ibd", "t#p#p0.ibd", "ibdata1", "ibtmp1", "undo001", "undo_001", "a.ibu"];
        let no =
            ["t.frm", "ib_logfile0", "ib_buffer_pool", "#ib_16384_0.dblwr", "undo_log", "t.cfg"];
        assert!(yes.into_iter().all(is_tablespace));
        assert!(!no.into_iter().any(is_tablespace));
    }

    #[test]
    fn progress_is_told_once_in_a_while_and_never_beyond_the_total() {
        let events = Mutex::new(Vec::new());
        let emit = |event| events.lock().unwrap().push(serde_json::to_value(event).unwrap());
        let meter = Meter {
            total: 100,
            done: AtomicU64::new(0),
            told: Mutex::new(Instant::now() + Duration::from_secs(3600)),
            emit: &emit,
        };
        meter.add(60);
        assert!(events.lock().unwrap().is_empty());
        for _ in 0..2 {
            *meter.told.lock().unwrap() = Instant::now().checked_sub(EVERY).unwrap();
            meter.add(30);
        }
        let expected = [(90, 100), (120, 120)].map(|(bytes, bytes_total)| {
            serde_json::json!({"event": "progress", "bytes": bytes, "bytes_total": bytes_total})
        });
        assert_eq!(*events.lock().unwrap(), expected);
    }

    #[test]
    fn what_cannot_be_read_is_skipped_and_said() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("db")).unwrap();
        fs::write(at("db/none.ibd"), "no tablespace").unwrap();
        std::os::unix::fs::symlink(directory.path(), at("db/linked")).unwrap();
        let events = Mutex::new(Vec::new());
        let paths = [at("db"), at("missing.ibd"), "/dev/null".into()];
        let totals = read_all(&paths, 2, &AtomicBool::new(false), |event| {
            events.lock().unwrap().push(event);
        });
        assert_eq!((totals.files, totals.skipped), (0, 4));
        let events = serde_json::to_value(events.into_inner().unwrap()).unwrap();
        let said = |part: &str| {
            events.as_array().unwrap().iter().any(|one| one.to_string().contains(part))
        };
        assert!(said("no first page") && said("No such file") && said("not a regular file"));
        assert!(said("symbolic link") && events[4]["event"] == "end");
    }
}
