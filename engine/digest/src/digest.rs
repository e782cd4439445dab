//! Digests logs: reads chunks on several threads, merges classes, builds the document.

use crate::aggregate::censoring;
use crate::aggregate::classes::{Classes, DETAILED};
use crate::aggregate::collector::Collector;
use crate::aggregate::grouping::Grouper;
use crate::aggregate::summary;
use crate::aggregate::tally::Tally;
use crate::aggregate::thread_totals::Collected;
use crate::document::{Censored, Document, Input};
use crate::logs::chunk_context::ChunkContext;
use crate::logs::chunks::Chunks;
use crate::logs::format::{Context, Format};
use crate::logs::line_numbers;
use crate::logs::source::{self, Source};
use crate::request::{Request, Watcher, open};
use crate::sequential::{self, SequentialReader};
use crate::sink::Part;
use dyno_core::Result;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

/// Reads all logs and passes the document to `watcher`. If `stop` is set, the document covers what
/// was read until then.
///
/// # Errors
/// A log that cannot be read, or whose format is unknown.
pub fn digest(
    request: &Request,
    stop: &'static AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<()> {
    let sources = open(request, stop, watcher)?;
    let mut run = Run {
        request,
        classes: Classes::new(request.taking.order_by, DETAILED),
        threads: (0..request.threads.max(1)).map(|_| Collected::default()).collect(),
        inputs: Vec::new(),
        censored: Vec::new(),
        read_before: 0,
        total: sources.iter().map(|source| source.size).sum(),
        stop,
    };
    for (path, source) in request.logs.iter().zip(sources) {
        run.log(path, source, watcher)?;
    }
    let document = run.document();
    watcher.document(document);
    Ok(())
}

/// A digest in progress.
struct Run<'a> {
    request: &'a Request,
    classes: Classes,
    threads: Vec<Collected>,
    inputs: Vec<Input>,
    censored: Vec<Censored>,
    /// Bytes of the preceding files.
    read_before: u64,
    total: Option<u64>,
    stop: &'static AtomicBool,
}

impl Run<'_> {
    /// Reads one log.
    fn log(&mut self, path: &str, source: Source, watcher: &mut dyn Watcher) -> Result<()> {
        let mut chunks = Chunks::new(source, path, self.stop);
        let number = self.inputs.len() as u32;
        let mut input = Input { path: path.to_owned(), ..Input::default() };
        chunks.await_begin(|head| {
            source::packed_otherwise(head).is_some()
                || self.request.format_of(path, head, None).is_ok()
        })?;
        let damage = chunks.source().damage;
        let head = chunks.head()?;
        if head.is_empty() {
            // An empty log is a log without events in any format; a compressed one may be damaged.
            "empty".clone_into(&mut input.format);
            self.inputs.push(input);
            self.close(number, &mut chunks, &Tally::default(), true);
            return Ok(());
        }
        let head = chunks.telling(|head| self.request.format_of(path, head, None).is_ok())?;
        let kind = self.request.format_of(path, head, damage)?;
        let format = (kind.open)(&self.request.settings, head)?;
        kind.name.clone_into(&mut input.format);
        self.inputs.push(input);
        let (language, asked) = (format.language(), self.request.asked);
        let grouper = |_| {
            let grouper = Grouper::new(asked.group_by, language);
            if asked.merges_names { grouper.merging_names() } else { grouper }
        };
        let mut groupers: Vec<Grouper> = self.threads.iter().map(grouper).collect();
        let (mut reader, mut context, chunk_context) =
            <(SequentialReader, Context, ChunkContext)>::default();
        let mut tally = Tally::default();
        loop {
            chunks.allow(self.classes.chunks());
            let before = chunks.bytes();
            if format.is_divisible() {
                let known = (&mut context, &chunk_context);
                self.read_chunks(&*format, number, &mut groupers, &mut chunks, known)?;
            } else {
                self.read_sequentially(
                    &*format,
                    number,
                    &mut groupers[0],
                    &mut chunks,
                    &mut reader,
                )?;
            }
            self.classes.merge(&mut self.threads);
            for collected in &mut self.threads {
                tally.merge(std::mem::take(&mut collected.tally));
            }
            let read = chunks.source().progress.read.load(Ordering::Relaxed);
            watcher.progress(self.read_before + read, self.total);
            if chunks.has_ended() || self.stop.load(Ordering::Relaxed) && !self.request.follows {
                break;
            }
            if self.request.follows {
                if watcher.wants_document() {
                    self.close(number, &mut chunks, &tally, false);
                    watcher.document(self.document());
                    self.censored.clear();
                }
                if chunks.bytes() == before {
                    std::thread::sleep(source::PATIENCE);
                }
            }
        }
        self.read_before += chunks.source().progress.read.load(Ordering::Relaxed);
        self.close(number, &mut chunks, &tally, true);
        Ok(())
    }

    /// Records the facts and counts of a log.
    fn close(&mut self, number: u32, chunks: &mut Chunks<'_>, tally: &Tally, is_end: bool) {
        let input = &mut self.inputs[number as usize];
        sequential::close(input, chunks, tally);
        if let Some(file) = chunks.source().plain_file().filter(|_| is_end) {
            line_numbers::number(file, &input.format, &mut input.not_understood);
        }
        let format = &self.inputs[number as usize].format;
        self.censored.extend(censoring::censored(number, format, &chunks.facts, &tally.durations));
    }

    /// Reads chunks on all threads until the next merge. A single thread carries the parser context
    /// from chunk to chunk; several threads pass it on through `chunk_context`.
    fn read_chunks(
        &mut self,
        format: &dyn Format,
        input: u32,
        groupers: &mut [Grouper],
        chunks: &mut Chunks<'_>,
        (carried, chunk_context): (&mut Context, &ChunkContext),
    ) -> Result<()> {
        let (taking, classes) = (&self.request.taking, &self.classes);
        let is_alone = self.threads.len() == 1;
        let shared = Mutex::new(chunks);
        let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
        let read = |collected: &mut Collected, grouper: &mut Grouper, context: &mut Context| {
            loop {
                let next = lock().next(format)?;
                let Some(chunk) = next else { return Ok(()) };
                if !is_alone {
                    let tell = || format.context(&chunk.bytes, chunk.bytes.len());
                    *context = chunk_context.pass(chunk.number, tell);
                }
                let part = Part { bytes: &chunk.bytes, offset: chunk.offset, is_last: true };
                let mut sink = Collector { input, taking, classes, grouper, collected };
                format.read(part, context, &mut sink);
                let facts = format.facts(context);
                let mut chunks = lock();
                sequential::tell(&mut chunks, chunk.number, facts);
                chunks.give_back(chunk.bytes);
            }
        };
        let (first, others) = self.threads.split_at_mut(1);
        let (first_grouper, other_groupers) = groupers.split_at_mut(1);
        std::thread::scope(|scope| {
            let running: Vec<_> = others
                .iter_mut()
                .zip(other_groupers)
                .map(|(collected, grouper)| {
                    scope.spawn(|| read(collected, grouper, &mut Context::default()))
                })
                .collect();
            let mine = read(&mut first[0], &mut first_grouper[0], carried);
            let theirs = running.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            theirs.fold(mine, Result::and)
        })
    }

    /// Reads bytes sequentially on one thread until the next merge.
    fn read_sequentially(
        &mut self,
        format: &dyn Format,
        input: u32,
        grouper: &mut Grouper,
        chunks: &mut Chunks<'_>,
        reader: &mut SequentialReader,
    ) -> Result<()> {
        let (taking, classes) = (&self.request.taking, &self.classes);
        let collected = &mut self.threads[0];
        reader.read(format, chunks, &mut Collector { input, taking, classes, grouper, collected })
    }

    fn document(&mut self) -> Document {
        let concurrency = self.classes.gather(&mut self.threads);
        summary::document(
            &self.classes,
            concurrency,
            self.request.asked,
            self.inputs.clone(),
            self.censored.clone(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::collector::Taking;
    use crate::aggregate::grouping::GroupBy;
    use crate::aggregate::order_by::OrderBy;
    use crate::aggregate::summary::{Asked, Limit};
    use crate::filter::Filter;
    use crate::logs::format::Settings;
    use std::fmt::Write as _;
    use std::io::Write as _;

    mod merging;

    static STOP: AtomicBool = AtomicBool::new(false);

    #[derive(Default)]
    struct Keeps(Vec<Document>);

    impl Watcher for Keeps {
        fn progress(&mut self, _: u64, _: Option<u64>) {}

        fn document(&mut self, document: Document) {
            self.0.push(document);
        }
    }

    /// A slow log of some MB: events out of order, some of minutes, several classes, users and databases.
    fn log(events: u64, classes: u64) -> String {
        let mut text = String::new();
        for n in 0..events {
            let mixed = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
            let (class, user) = (mixed % classes, mixed % 150);
            let long_s = if mixed % 50 == 7 { mixed % 3000 } else { 0 };
            let long = "x".repeat((mixed % 400) as usize);
            let _ = write!(
                text,
                "# User@Host: u{user}[u{user}] @ h{user} []  Id: {user}\n\
                 # Query_time: {long_s}.{:06}  Lock_time: 0.000{:03} Rows_sent: {}  Rows_examined: {}\n\
                 SET timestamp={};\nselect a from t{class} where b = {n} and c = '{long}';\n",
                mixed % 1_000_000,
                mixed % 1000,
                mixed % 10,
                mixed % 5000,
                1_700_000_000 + n / 20 - mixed % 3,
            );
        }
        text
    }

    fn request(path: &str, threads: usize) -> Request {
        let limit = Limit { share: 1.0, count: usize::MAX };
        let order_by = OrderBy::QueryTime;
        Request {
            logs: vec![path.to_owned()],
            format: None,
            settings: Settings::default(),
            threads,
            taking: Taking { filter: Filter::default(), order_by, keeps_text: true },
            asked: Asked { group_by: GroupBy::Fingerprint, order_by, limit, merges_names: false },
            follows: false,
        }
    }

    fn read(request: &Request) -> Result<Document> {
        let mut kept = Keeps::default();
        digest(request, &STOP, &mut kept)?;
        Ok(kept.0.pop().unwrap())
    }

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn path(file: &tempfile::NamedTempFile) -> &str {
        file.path().to_str().unwrap()
    }

    #[test]
    fn the_document_does_not_depend_on_the_number_of_threads_nor_on_packing() {
        let text = log(20_000, 300);
        let plain = file(text.as_bytes());
        let one = read(&request(path(&plain), 1)).unwrap();
        assert_eq!((one.overall.count, one.classes_total), (20_000, 300));
        let total: u64 = one.classes.iter().map(|class| class.stats.count).sum();
        assert_eq!((total, one.inputs[0].bytes), (20_000, text.len() as u64));
        let one = serde_json::to_value(&one).unwrap();
        for threads in [2, 3, 5] {
            let many = serde_json::to_value(read(&request(path(&plain), threads)).unwrap());
            assert_eq!(one, many.unwrap(), "{threads} threads");
        }
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let zstd = zstd::encode_all(text.as_bytes(), 1).unwrap();
        for packed in [gzip.finish().unwrap(), zstd] {
            let packed = file(&packed);
            let mut found = read(&request(path(&packed), 2)).unwrap();
            found.inputs[0].path = path(&plain).to_owned();
            assert_eq!(one, serde_json::to_value(found).unwrap());
        }
    }

    #[test]
    fn all_servers_of_a_log_are_named_in_its_order() {
        let opening = |version: &str| {
            format!(
                "/usr/sbin/mysqld, Version: {version}. started with:\n\
                 Tcp port: 3306  Unix socket: /x\n\
                 Time                 Id Command    Argument\n"
            )
        };
        let (old, new) = (opening("10.11.14-MariaDB-log (Debian)"), opening("9.7.4 (Source)"));
        let text = [&old, &log(9000, 300), &new, &log(9000, 300), &old, &log(100, 300)]
            .map(String::as_str)
            .concat();
        let file = file(text.as_bytes());
        for threads in [1, 3] {
            let found = read(&request(path(&file), threads)).unwrap();
            let input = &found.inputs[0];
            assert_eq!(input.servers, ["MariaDB 10.11.14", "MySQL 9.7.4"]);
            assert_eq!(input.server.as_deref(), Some("MariaDB 10.11.14"));
            assert_eq!((input.events, input.pieces_not_understood), (18_100, 0));
        }
        let mut kept = Keeps::default();
        let shape =
            crate::workload_profile::from_logs::derive(&request(path(&file), 1), &STOP, &mut kept)
                .unwrap();
        assert_eq!(shape.logs.inputs[0].servers.len(), 2);
    }

    #[test]
    fn classes_of_which_threads_give_the_details_away_are_the_same_on_any_number_of_threads() {
        let plain = file(log(30_000, 7_000).as_bytes());
        let mut request = request(path(&plain), 1);
        request.taking.keeps_text = false;
        let one = read(&request).unwrap();
        assert_eq!((one.overall.count, one.classes_total), (30_000, 7_000));
        assert_eq!(one.overall.query_time.as_ref().unwrap().sketched, Some(1.0));
        let one = serde_json::to_value(&one).unwrap();
        for threads in [2, 3] {
            request.threads = threads;
            let many = serde_json::to_value(read(&request).unwrap()).unwrap();
            assert_eq!(one, many, "{threads} threads");
        }
    }

    #[test]
    fn a_packed_log_that_ends_early_is_told() {
        let packed = zstd::encode_all(log(2000, 300).as_bytes(), 1).unwrap();
        let found = read(&request(path(&file(&packed[..packed.len() / 2])), 1)).unwrap();
        let input = &found.inputs[0];
        assert!(input.events < 2000, "{input:?}");
        assert!(input.not_understood.iter().any(|chunk| chunk.why.contains("damaged")));
    }

    #[test]
    fn a_packed_log_that_ends_before_its_first_byte_is_told_too() {
        let text = log(200, 3);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let zstd = zstd::encode_all(text.as_bytes(), 1).unwrap();
        for (packed, least) in [(gzip.finish().unwrap(), 2), (zstd, 4)] {
            for length in [least, 5, 9, 10, 11, 20, 40] {
                let found = match read(&request(path(&file(&packed[..length])), 1)) {
                    Ok(found) => found,
                    // Some bytes were decompressed, but too few to detect the format.
                    Err(error) => {
                        assert!(error.what.contains("damaged"), "{error}");
                        continue;
                    }
                };
                let input = &found.inputs[0];
                assert_eq!((&*input.format, input.pieces_not_understood), ("empty", 1), "{length}");
                assert!(input.not_understood[0].why.contains("damaged"), "{input:?}");
            }
        }
    }

    #[test]
    fn what_is_packed_in_other_ways_is_named() {
        for (head, name) in [(&b"\xFD7zXZ\0\0\x04"[..], "xz"), (b"BZh91AY&SYx", "bzip2")] {
            let file = file(head);
            let mut request = request(path(&file), 1);
            for format in [None, Some("mysql-slow".to_owned())] {
                request.format = format;
                let error = read(&request).unwrap_err();
                assert!(error.what.contains(&format!("packed by {name}")), "{error}");
                assert!(error.hint.contains("gzip and zstd"), "{error}");
            }
        }
    }

    #[test]
    fn an_event_longer_than_what_is_read_at_once_is_whole() {
        let line = |text: &str| {
            format!("2025-11-22 04:42:15.123 UTC [7] LOG:  duration: 1.500 ms  statement: {text}\n")
        };
        let long = line(&format!("select '{}'", "x".repeat(5 << 20)));
        let text = [line("select 1"), long, line("select 2"), line("select 3")].concat();
        let found = read(&request(path(&file(text.as_bytes())), 1)).unwrap();
        assert_eq!((found.overall.count, found.classes_total), (4, 1));
    }

    #[test]
    fn an_empty_log_has_no_events_and_rubbish_no_format() {
        let found = read(&request(path(&file(b"")), 2)).unwrap();
        assert_eq!((found.overall.count, &*found.inputs[0].format), (0, "empty"));
        let error = read(&request(path(&file(b"\0\x01 rubbish")), 2)).unwrap_err();
        assert!(error.hint.contains("--log-format NAME"), "{error}");
        let error = read(&request("/nowhere/slow.log", 1)).unwrap_err();
        assert!(error.what.contains("/nowhere/slow.log"), "{error}");
    }
}
