//! The options of `tpcc`: what they mean and where their limits are.

use crate::options::Reader;
use dyno_core::error::Result;
use dyno_core::plan::Options;

/// Districts of a warehouse.
pub const DISTRICTS: u64 = 10;
/// Last names that there are.
const NAMES: u64 = 1000;

/// Everything the workload needs to know, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub mode: Mode,
    pub warehouses: u64,
    /// Of a district; as many orders are loaded.
    pub customers: u64,
    pub items: u64,
    /// Each session has a warehouse of its own, instead of one drawn for each transaction.
    pub is_home_fixed: bool,
    /// Keying and think times.
    pub is_paced: bool,
    pub table_options: String,
}

/// Whose rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The specification's.
    Faithful,
    /// Those of the scripts for sysbench.
    Sysbench,
}

impl Settings {
    /// Reads and checks the options.
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

    /// Orders of a district that are loaded as delivered: 2,100 of 3,000.
    pub fn delivered(&self) -> u64 {
        self.customers * 7 / 10
    }

    /// Last names that customers of a district have: all 1,000 but for very few customers.
    pub fn names(&self) -> u64 {
        self.customers.min(NAMES)
    }

    /// Whether the rules are those of the scripts for sysbench.
    pub fn is_sysbench(&self) -> bool {
        self.mode == Mode::Sysbench
    }

    /// Districts of all warehouses.
    pub fn districts(&self) -> u64 {
        self.warehouses * DISTRICTS
    }
}
