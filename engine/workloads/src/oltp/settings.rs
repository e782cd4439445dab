//! The options of `oltp`: presets, limits and validation.

use crate::options::Reader;
use dyno_core::error::Result;
use dyno_core::plan::Options;
use dyno_core::random::distribution::Shape;

/// Keys are 32-bit columns. The margin leaves room for upper bounds of ranges beyond the last row and
/// for rows inserted by a run.
const ROWS_MAX: u64 = 2_000_000_000;
/// Indexes of statements have 16 bits; a table has one statement per class.
const TABLES_MAX: u64 = 4096;
const OPERATIONS_MAX: u64 = 10_000;
/// Limit of parameters per transaction, which each session holds in memory.
const PARAMETERS_MAX: u64 = 100_000;
const IN_LIST_MAX: u64 = 10_000;
const RANGE_SIZE_MAX: u64 = 10_000_000;

const SHAPES: [&str; 5] = ["uniform", "zipfian", "gaussian", "pareto", "special"];

/// The validated options.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub tables: u64,
    pub rows: u64,
    pub id_range: u64,
    pub in_list: u64,
    pub range_size: u64,
    pub counts: Counts,
    pub skip_trx: bool,
    pub distribution: Shape,
    pub k_distribution: Shape,
    pub table_options: String,
}

/// Number of operations of each kind in a transaction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counts {
    pub point_selects: u64,
    pub simple_ranges: u64,
    pub sum_ranges: u64,
    pub order_ranges: u64,
    pub distinct_ranges: u64,
    pub filter_ranges: u64,
    pub index_updates: u64,
    pub non_index_updates: u64,
    pub delete_inserts: u64,
    pub deletes: u64,
    pub inserts: u64,
}

/// A named set of counts, and whether begin and commit are omitted.
struct Preset {
    name: &'static str,
    counts: Counts,
    skip_trx: bool,
}

const NOTHING: Counts = Counts {
    point_selects: 0,
    simple_ranges: 0,
    sum_ranges: 0,
    order_ranges: 0,
    distinct_ranges: 0,
    filter_ranges: 0,
    index_updates: 0,
    non_index_updates: 0,
    delete_inserts: 0,
    deletes: 0,
    inserts: 0,
};

const READS: Counts = Counts {
    point_selects: 10,
    simple_ranges: 1,
    sum_ranges: 1,
    order_ranges: 1,
    distinct_ranges: 1,
    ..NOTHING
};

const PRESETS: [Preset; 8] = [
    Preset {
        name: "read_write",
        counts: Counts { index_updates: 1, non_index_updates: 1, delete_inserts: 1, ..READS },
        skip_trx: false,
    },
    Preset { name: "read_only", counts: READS, skip_trx: false },
    Preset {
        name: "write_only",
        counts: Counts { index_updates: 1, non_index_updates: 1, delete_inserts: 1, ..NOTHING },
        skip_trx: false,
    },
    Preset { name: "point_select", counts: Counts { point_selects: 1, ..NOTHING }, skip_trx: true },
    Preset { name: "update_index", counts: Counts { index_updates: 1, ..NOTHING }, skip_trx: true },
    Preset {
        name: "update_non_index",
        counts: Counts { non_index_updates: 1, ..NOTHING },
        skip_trx: true,
    },
    Preset { name: "insert", counts: Counts { inserts: 1, ..NOTHING }, skip_trx: true },
    Preset { name: "delete", counts: Counts { deletes: 1, ..NOTHING }, skip_trx: true },
];

impl Settings {
    /// Reads and validates the options; the preset has the defaults.
    pub fn read(options: &Options) -> Result<Self> {
        let mut reader = Reader::new("oltp", options);
        let name = reader.word("preset", PRESETS[0].name, &PRESETS.each_ref().map(|p| p.name))?;
        let preset = PRESETS.iter().find(|p| p.name == name).unwrap_or(&PRESETS[0]);
        let tables = reader.integer("tables", 1, 1..=TABLES_MAX)?;
        let rows = reader.integer("rows", 10_000, 1..=ROWS_MAX)?;
        let settings = Self {
            tables,
            rows,
            id_range: reader.integer("id_range", rows, 1..=ROWS_MAX)?,
            counts: Counts::read(&mut reader, preset.counts)?,
            in_list: reader.integer("in_list", 1, 1..=IN_LIST_MAX)?,
            range_size: reader.integer("range_size", 100, 1..=RANGE_SIZE_MAX)?,
            skip_trx: reader.flag("skip_trx", preset.skip_trx)?,
            distribution: shape(&mut reader)?,
            k_distribution: k_shape(&mut reader)?,
            table_options: reader.text("table_options")?.trim().to_owned(),
        };
        reader.finish()?;
        settings.check(&reader)?;
        Ok(settings)
    }

    /// Checks constraints between options.
    fn check(&self, reader: &Reader) -> Result<()> {
        if self.id_range > self.rows {
            let (ids, rows) = (self.id_range, self.rows);
            return Err(reader
                .wrong("id_range", format!("{ids} is more than rows = {rows}"))
                .hint("keys are drawn from 1 to id_range: lower it or raise rows"));
        }
        let operations = self.counts.operations();
        if operations == 0 {
            return Err(reader
                .wrong("point_selects", "all counts of operations are 0, so nothing would be sent")
                .hint("give at least one of the counts a value above 0"));
        }
        if operations > OPERATIONS_MAX {
            let why = format!("{operations} operations in a transaction, {OPERATIONS_MAX} allowed");
            return Err(reader.wrong("point_selects and the other counts", why));
        }
        let parameters = self.counts.point_selects * self.in_list;
        if parameters > PARAMETERS_MAX {
            let why = format!(
                "in_list x point_selects is {parameters} keys in a transaction, \
                 {PARAMETERS_MAX} allowed"
            );
            return Err(reader.wrong("in_list", why));
        }
        Ok(())
    }

    /// Whether an operation changes rows.
    pub fn writes(&self) -> bool {
        let c = &self.counts;
        c.index_updates + c.non_index_updates + c.delete_inserts + c.deletes + c.inserts > 0
    }
}

impl Counts {
    fn read(reader: &mut Reader, preset: Self) -> Result<Self> {
        let mut count = |name, default| reader.integer(name, default, 0..=OPERATIONS_MAX);
        Ok(Self {
            point_selects: count("point_selects", preset.point_selects)?,
            simple_ranges: count("simple_ranges", preset.simple_ranges)?,
            sum_ranges: count("sum_ranges", preset.sum_ranges)?,
            order_ranges: count("order_ranges", preset.order_ranges)?,
            distinct_ranges: count("distinct_ranges", preset.distinct_ranges)?,
            filter_ranges: count("filter_ranges", preset.filter_ranges)?,
            index_updates: count("index_updates", preset.index_updates)?,
            non_index_updates: count("non_index_updates", preset.non_index_updates)?,
            delete_inserts: count("delete_inserts", preset.delete_inserts)?,
            deletes: count("deletes", preset.deletes)?,
            inserts: count("inserts", preset.inserts)?,
        })
    }

    /// Number of statements between begin and commit.
    fn operations(&self) -> u64 {
        self.point_selects
            + self.simple_ranges
            + self.sum_ranges
            + self.order_ranges
            + self.distinct_ranges
            + self.filter_ranges
            + self.index_updates
            + self.non_index_updates
            + 2 * self.delete_inserts
            + self.deletes
            + self.inserts
    }
}

/// Reads the run's distribution. Fails if a parameter of another distribution is present.
fn shape(reader: &mut Reader) -> Result<Shape> {
    let name = reader.word("distribution", "uniform", &SHAPES)?;
    let theta =
        reader.number("zipfian_theta", 0.8, |x| (0.0..=10.0).contains(&x), "from 0 to 10")?;
    let iterations = reader.integer("gaussian_iterations", 12, 1..=1000)? as u32;
    let h =
        reader.number("pareto_h", 0.2, |x| (0.001..=0.999).contains(&x), "from 0.001 to 0.999")?;
    let special_iterations = reader.integer("special_iterations", 12, 1..=1000)? as u32;
    let pct_percent = reader.integer("special_pct", 1, 1..=100)? as u32;
    let res_percent = reader.integer("special_res", 75, 0..=100)? as u32;
    for (parameter, of) in [
        ("zipfian_theta", "zipfian"),
        ("gaussian_iterations", "gaussian"),
        ("pareto_h", "pareto"),
        ("special_iterations", "special"),
        ("special_pct", "special"),
        ("special_res", "special"),
    ] {
        if reader.given(parameter) && of != name {
            let why = format!("it belongs to distribution {of}, but distribution is {name}");
            return Err(reader.wrong(parameter, why));
        }
    }
    Ok(match name {
        "zipfian" => Shape::Zipfian { theta },
        "gaussian" => Shape::Gaussian { iterations },
        "pareto" => Shape::Pareto { h },
        "special" => Shape::Special { iterations: special_iterations, pct_percent, res_percent },
        _ => Shape::Uniform,
    })
}

/// Reads the distribution of the loaded column `k`, with sysbench's default parameters.
fn k_shape(reader: &mut Reader) -> Result<Shape> {
    Ok(match reader.word("k_distribution", "uniform", &SHAPES)? {
        "zipfian" => Shape::Zipfian { theta: 0.8 },
        "gaussian" => Shape::Gaussian { iterations: 12 },
        "pareto" => Shape::Pareto { h: 0.2 },
        "special" => Shape::Special { iterations: 12, pct_percent: 1, res_percent: 75 },
        _ => Shape::Uniform,
    })
}
