//! The options of `kv`: presets A to F, limits and validation.

use crate::choice::Choice;
use crate::options::Reader;
use dyno_core::error::Result;
use dyno_core::plan::Options;
use dyno_core::random::distribution::Shape;

/// The validated options.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub records: u64,
    pub fields: u64,
    pub field_bytes: u64,
    pub requests: Requests,
    pub shape: Shape,
    pub scan_length_max: u64,
    pub proportions: Proportions,
    pub is_hashed: bool,
    pub is_transactional: bool,
    pub table_options: String,
    /// Number of operations that a session sends together.
    pub pipeline: u32,
}

/// Longest pipeline.
const PIPELINE_MAX: u64 = 1000;
/// Maximum bytes of the fields that a session sends together: each session holds them twice.
const PIPELINED_BYTES_MAX: u64 = 64 << 20;

/// How requests select records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requests {
    /// By the shape, scattered over the loaded records.
    Anywhere,
    /// By the shape, counted back from the newest record.
    Latest,
}

/// The kinds of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Read,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
}

impl Operation {
    /// All except `Insert`, in the order of [`Proportions::others`].
    pub const OTHERS: [Self; 4] = [Self::Read, Self::Update, Self::Scan, Self::ReadModifyWrite];
}

/// Relative frequencies of the operations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proportions {
    pub read: f64,
    pub update: f64,
    pub insert: f64,
    pub scan: f64,
    pub read_modify_write: f64,
}

const NOTHING: Proportions =
    Proportions { read: 0.0, update: 0.0, insert: 0.0, scan: 0.0, read_modify_write: 0.0 };

/// Workloads A to F: name, proportions and distribution of requests.
const PRESETS: [(&str, Proportions, &str); 6] = [
    ("a", Proportions { read: 0.5, update: 0.5, ..NOTHING }, "zipfian"),
    ("b", Proportions { read: 0.95, update: 0.05, ..NOTHING }, "zipfian"),
    ("c", Proportions { read: 1.0, ..NOTHING }, "zipfian"),
    ("d", Proportions { read: 0.95, insert: 0.05, ..NOTHING }, "latest"),
    ("e", Proportions { scan: 0.95, insert: 0.05, ..NOTHING }, "zipfian"),
    ("f", Proportions { read: 0.5, read_modify_write: 0.5, ..NOTHING }, "zipfian"),
];

impl Settings {
    /// Reads and validates the options; the preset has the defaults.
    pub fn read(options: &Options) -> Result<Self> {
        let mut reader = Reader::new("kv", options);
        let name = reader.word("preset", "a", &PRESETS.map(|preset| preset.0))?;
        let (_, preset, distribution) =
            PRESETS.into_iter().find(|preset| preset.0 == name).unwrap_or(PRESETS[0]);
        let distribution =
            reader.word("distribution", distribution, &["uniform", "zipfian", "latest"])?;
        let theta =
            reader.number("zipfian_theta", 0.99, |x| (0.0..=10.0).contains(&x), "from 0 to 10")?;
        if distribution == "uniform" && reader.given("zipfian_theta") {
            let why = "it belongs to distributions zipfian and latest, not to uniform";
            return Err(reader.wrong("zipfian_theta", why));
        }
        let settings = Self {
            records: reader.integer("records", 10_000, 1..=100_000_000_000)?,
            fields: reader.integer("fields", 10, 1..=100)?,
            field_bytes: reader.integer("field_bytes", 100, 1..=65_535)?,
            requests: if distribution == "latest" { Requests::Latest } else { Requests::Anywhere },
            shape: match distribution {
                "uniform" => Shape::Uniform,
                _ => Shape::Zipfian { theta },
            },
            scan_length_max: reader.integer("scan_length_max", 100, 1..=1_000_000)?,
            proportions: Proportions::read(&mut reader, preset)?,
            is_hashed: reader.word("key_order", "hashed", &["hashed", "ordered"])? == "hashed",
            is_transactional: reader.flag("transactional", false)?,
            table_options: reader.text("table_options")?.trim().to_owned(),
            pipeline: reader.integer("pipeline", 1, 1..=PIPELINE_MAX)? as u32,
        };
        reader.finish()?;
        settings.check_pipeline(&reader)?;
        if settings.proportions.sum() <= 0.0 {
            return Err(reader
                .wrong("read", "all proportions are 0, so nothing would be sent")
                .hint("give at least one of the proportions a value above 0"));
        }
        Ok(settings)
    }

    fn check_pipeline(&self, reader: &Reader<'_>) -> Result<()> {
        if self.pipeline > 1 && self.proportions.read_modify_write > 0.0 {
            let why = "a read_modify_write waits for its read before it writes";
            return Err(reader.wrong("pipeline", why).hint("set read_modify_write to 0"));
        }
        let bytes = u64::from(self.pipeline) * self.fields * self.field_bytes;
        if self.pipeline > 1 && bytes > PIPELINED_BYTES_MAX {
            let why = format!("{bytes} bytes of fields would be sent together");
            let hint = format!("at most {PIPELINED_BYTES_MAX}: shorten the pipeline or the record");
            return Err(reader.wrong("pipeline", why).hint(hint));
        }
        Ok(())
    }
}

impl Proportions {
    fn read(reader: &mut Reader, preset: Self) -> Result<Self> {
        let allowed = |x: f64| (0.0..=1e9).contains(&x);
        let mut one = |name, default| reader.number(name, default, allowed, "from 0 to 1e9");
        Ok(Self {
            read: one("read", preset.read)?,
            update: one("update", preset.update)?,
            insert: one("insert", preset.insert)?,
            scan: one("scan", preset.scan)?,
            read_modify_write: one("read_modify_write", preset.read_modify_write)?,
        })
    }

    fn sum(&self) -> f64 {
        self.insert + self.others().iter().sum::<f64>()
    }

    /// Fraction of operations that are inserts.
    pub fn insert_share(&self) -> f64 {
        self.insert / self.sum()
    }

    /// Proportions of the operations other than inserts, in the order of [`Operation::OTHERS`].
    pub fn others(&self) -> [f64; 4] {
        [self.read, self.update, self.scan, self.read_modify_write]
    }

    /// Distribution over [`Operation::OTHERS`]; `None` if all operations are inserts.
    pub fn choice(&self) -> Option<Choice> {
        Choice::weighted(&self.others())
    }

    /// Whether an operation changes rows.
    pub fn writes(&self) -> bool {
        self.update + self.insert + self.read_modify_write > 0.0
    }
}
