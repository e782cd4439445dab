//! The options of `tpcc`: defaults, limits and validation.

use crate::options::Reader;
use dyno_core::error::Result;
use dyno_core::plan::Options;

/// Districts of a warehouse.
pub const DISTRICTS: u64 = 10;
/// Number of distinct last names.
const NAMES: u64 = 1000;

/// The validated options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub mode: Mode,
    pub warehouses: u64,
    /// Customers per district, and orders loaded per district.
    pub customers: u64,
    pub items: u64,
    /// Whether each session has a fixed home warehouse, instead of drawing one per transaction.
    pub is_home_fixed: bool,
    /// Whether sessions wait for keying and think times.
    pub is_paced: bool,
    pub table_options: String,
}

/// The rules that the workload follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The specification's.
    Faithful,
    /// Those of the sysbench scripts.
    Sysbench,
}

impl Settings {
    /// Reads and validates the options.
    pub fn read(options: &Options) -> Result<Self> {
        let mut reader = Reader::new("tpcc", options);
        let mode = match reader.word("mode", "faithful", &["faithful", "sysbench"])? {
            "sysbench" => Mode::Sysbench,
            _ => Mode::Faithful,
        };
        let settings = Self {
            mode,
            warehouses: reader.integer("warehouses", 1, 1..=100_000)?,
            customers: reader.integer("customers", 3_000, 30..=3_000)?,
            items: reader.integer("items", 100_000, 100..=100_000)?,
            is_home_fixed: reader.word("home", "drawn", &["drawn", "session"])? == "session",
            is_paced: reader.flag("paced", false)?,
            table_options: reader.text("table_options")?.trim().to_owned(),
        };
        reader.finish()?;
        if mode == Mode::Sysbench && settings.is_paced {
            let why = "the scripts for sysbench know no keying and think times";
            return Err(reader.wrong("paced", why).hint("remove it, or use mode: faithful"));
        }
        Ok(settings)
    }

    /// Orders per district that are loaded as delivered, 2,100 of 3,000.
    pub fn delivered(&self) -> u64 {
        self.customers * 7 / 10
    }

    /// Number of distinct last names in a district: 1,000, or `customers` if that is less.
    pub fn names(&self) -> u64 {
        self.customers.min(NAMES)
    }

    /// Whether the mode is sysbench.
    pub fn is_sysbench(&self) -> bool {
        self.mode == Mode::Sysbench
    }

    /// Number of districts in all warehouses.
    pub fn districts(&self) -> u64 {
        self.warehouses * DISTRICTS
    }
}
