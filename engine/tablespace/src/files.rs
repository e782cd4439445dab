//! Files and directories: which files are tablespaces, and several at a time.

use crate::document::{Event, Totals};
use crate::read::{self, Buffer};
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Directories below one that is given, deeper than any server's.
const DEPTH_MAX: usize = 8;

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
                    match read::read(&path, &mut buffer, stop) {
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
        if kind.is_dir() && depth < DEPTH_MAX {
            walk(&entry.path(), depth + 1, files, skipped);
        } else if kind.is_file() && is_tablespace(&entry.file_name().to_string_lossy()) {
            files.push_back(entry.path());
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
    fn what_cannot_be_read_is_skipped_and_said() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("db")).unwrap();
        fs::write(at("db/none.ibd"), "no tablespace").unwrap();
        let events = Mutex::new(Vec::new());
        let paths = [at("db"), at("missing.ibd"), "/dev/null".into()];
        let totals = read_all(&paths, 2, &AtomicBool::new(false), |event| {
            events.lock().unwrap().push(event);
        });
        assert_eq!((totals.files, totals.skipped), (0, 3));
        let events = serde_json::to_value(events.into_inner().unwrap()).unwrap();
        let said = |part: &str| {
            events.as_array().unwrap().iter().any(|one| one.to_string().contains(part))
        };
        assert!(said("no first page") && said("No such file") && said("not a regular file"));
        assert_eq!(events[3]["event"], "end");
    }
}
