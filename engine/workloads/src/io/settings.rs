//! The options of `io`: presets, limits and validation.

use crate::options::Reader;
use dyno_core::error::Result;
use dyno_core::plan::Options;
use dyno_core::random::distribution::Shape;

/// The validated options.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub files: u32,
    /// Size of each file, a multiple of [`PAGE_BYTES`].
    pub file_bytes: u64,
    pub block_bytes: u32,
    pub is_random: bool,
    pub read_share: f64,
    pub shape: Shape,
    /// Number of a session's writes between syncs; 0 never syncs.
    pub sync_every: u64,
    pub is_data_only: bool,
}

/// Name, whether access is random, and share of reads.
const PRESETS: [(&str, bool, f64); 5] = [
    ("random_read", true, 1.0),
    ("random_write", true, 0.0),
    ("random_mixed", true, 0.6),
    ("sequential_read", false, 1.0),
    ("sequential_write", false, 0.0),
];
/// Maximum number of files. All are open at once, in addition to the sessions' descriptors.
const FILES_MAX: u64 = 512;
/// Minimum size of a file, so that workloads with the default block size can share it.
const FILE_BYTES_MIN: u64 = 16 << 10;
/// File sizes are multiples of this, as direct I/O requires.
const PAGE_BYTES: u64 = 4096;

impl Settings {
    /// Reads and validates the options; the preset has the defaults.
    pub fn read(options: &Options) -> Result<Self> {
        let mut reader = Reader::new("io", options);
        let name = reader.word("preset", PRESETS[0].0, &PRESETS.map(|preset| preset.0))?;
        let (_, is_random, read_share) =
            PRESETS.into_iter().find(|preset| preset.0 == name).unwrap_or(PRESETS[0]);
        let files = reader.integer("files", 4, 1..=FILES_MAX)?;
        let total = reader.integer("total_size", 128 << 20, FILE_BYTES_MIN..=1 << 49)?;
        let block_bytes = reader.integer("block_size", 16 << 10, 512..=64 << 20)?;
        let access = if is_random { "random" } else { "sequential" };
        let is_random = reader.word("access", access, &["sequential", "random"])? == "random";
        let read_share =
            reader.number("read_share", read_share, |x| (0.0..=1.0).contains(&x), "from 0 to 1")?;
        let shape = shape(&mut reader, is_random)?;
        let settings = Self {
            files: files as u32,
            file_bytes: total / files / PAGE_BYTES * PAGE_BYTES,
            block_bytes: block_bytes as u32,
            is_random,
            read_share,
            shape,
            sync_every: reader.integer("sync_every", 0, 0..=1_000_000_000)?,
            is_data_only: reader.word("sync_call", "fsync", &["fsync", "fdatasync"])?
                == "fdatasync",
        };
        reader.finish()?;
        if settings.file_bytes < FILE_BYTES_MIN {
            let why = format!("{files} files of {total} bytes together are less than 16 KiB each");
            return Err(reader.wrong("total_size", why));
        }
        if settings.file_bytes < block_bytes {
            let each = settings.file_bytes;
            let why = format!("{block_bytes} is more than a file has, {each} bytes");
            return Err(reader.wrong("block_size", why));
        }
        Ok(settings)
    }

    /// Number of whole blocks per file. The rest of the file is not accessed.
    pub fn blocks_a_file(&self) -> u64 {
        self.file_bytes / u64::from(self.block_bytes)
    }

    /// Number of whole blocks in all files.
    pub fn blocks(&self) -> u64 {
        self.blocks_a_file() * u64::from(self.files)
    }
}

fn shape(reader: &mut Reader, is_random: bool) -> Result<Shape> {
    let name = reader.word("distribution", "uniform", &["uniform", "zipfian"])?;
    let theta =
        reader.number("zipfian_theta", 0.99, |x| (0.0..=10.0).contains(&x), "from 0 to 10")?;
    if reader.given("distribution") && !is_random {
        return Err(reader.wrong("distribution", "it belongs to access random, not to sequential"));
    }
    if reader.given("zipfian_theta") && name != "zipfian" {
        return Err(reader.wrong("zipfian_theta", "it belongs to distribution zipfian"));
    }
    Ok(if name == "zipfian" { Shape::Zipfian { theta } } else { Shape::Uniform })
}
