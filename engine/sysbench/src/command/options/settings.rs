//! The general options, typed and checked, with old names resolved.

use crate::command::refusal::Refusal;
use crate::console::{self, Level};
use crate::options::{Options, Value};
use crate::rand;
use crate::report::Compat;
use crate::report::percentiles::Percentiles;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Maximum number of threads: session numbers have 32 bits.
const THREADS_MAX: i64 = 1_000_000;
/// Maximum number of load threads that can be requested, as in an engine plan.
const LOAD_THREADS_MAX: u32 = 1024;
/// Maximum time in seconds; longer times mean no limit.
const TIME_MAX_S: i64 = 1_000_000_000;

/// The values of the general options.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// `--compat`.
    pub compat: Compat,
    /// `--threads`: sessions.
    pub threads: u32,
    /// `--events`; 0: no limit.
    pub events: u64,
    /// `--time`; none: no limit.
    pub time: Option<Duration>,
    /// `--warmup-time`.
    pub warmup: Duration,
    /// `--forced-shutdown`: grace period after the end of the run; none: off.
    pub forced: Option<Duration>,
    /// `--thread-stack-size`, bytes.
    pub stack_bytes: usize,
    /// `--thread-init-timeout`.
    pub start_max: Duration,
    /// `--rate`, events per second of all sessions together; none: sessions run at full speed.
    pub rate_per_s: Option<f64>,
    /// `--report-interval`.
    pub interval: Option<Duration>,
    /// `--report-checkpoints`, in their order.
    pub checkpoints: Vec<Duration>,
    /// `--debug`.
    pub debug: bool,
    /// `--validate`.
    pub validate: bool,
    /// `--percentile`.
    pub percentiles: Percentiles,
    /// `--histogram`.
    pub histogram: bool,
    /// `--rand-*`.
    pub random: rand::Settings,
    /// `--json`.
    pub json: Option<PathBuf>,
    /// `--load-threads`; 0: automatic.
    pub load_threads: u32,
}

/// Old names of options, and their current ones.
const RENAMED: [(&str, &str); 4] = [
    ("num-threads", "threads"),
    ("max-requests", "events"),
    ("max-time", "time"),
    ("tx-rate", "rate"),
];

/// Warns of each old name in use.
pub fn warn_of_old_names(options: &Options) {
    for (old, new) in RENAMED {
        if options.is_given(old) {
            console::say(Level::Warning, &format!("--{old} is deprecated, use --{new} instead"));
        }
    }
}

/// Copies the values of old names to the current ones.
pub fn take_over(options: &mut Options) {
    for (old, new) in RENAMED {
        if let Some(value) = options.get(old).filter(|_| options.is_given(old)).cloned() {
            options.set(new, value, true);
        }
    }
}

/// Returns the requested verbosity.
///
/// # Errors
/// The value is no verbosity.
pub fn verbosity(options: &Options) -> Result<u8, Refusal> {
    let level = options.int("verbosity");
    let is_debug = options.bool("debug");
    match u8::try_from(level) {
        Ok(level) if level <= Level::Debug as u8 => {
            Ok(if is_debug { Level::Debug as u8 } else { level })
        }
        _ => Err(Refusal::plain(format!("Invalid value for verbosity: {level}"))),
    }
}

impl Settings {
    /// Reads `options`, in which all general ones are resolved.
    ///
    /// # Errors
    /// An invalid value, in sysbench's wording where it has one.
    pub fn of(options: &Options, compat: Compat) -> Result<Self, Refusal> {
        let threads = options.int("threads");
        if !(1..=THREADS_MAX).contains(&threads) {
            return Err(Refusal::fatal(format!("Invalid value for --threads: {threads}.\n")));
        }
        let warmup = whole(options, "warmup-time")?;
        let time = Some(seconds(options, "time")?).filter(|time| !time.is_zero());
        let events = whole(options, "events")?;
        if time.is_none() && events == 0 {
            let text = "Both event and time limits are disabled, running an endless test";
            console::say(Level::Warning, text);
        }
        Ok(Self {
            compat,
            threads: threads as u32,
            events,
            time,
            warmup: Duration::from_secs(warmup),
            forced: forced(options, time)?,
            stack_bytes: stack(options)?,
            start_max: seconds(options, "thread-init-timeout")?,
            rate_per_s: rate(options)?,
            interval: Some(seconds(options, "report-interval")?).filter(|length| !length.is_zero()),
            checkpoints: checkpoints(options)?,
            debug: options.bool("debug"),
            validate: options.bool("validate"),
            percentiles: percentiles(options)?,
            histogram: options.bool("histogram"),
            random: rand::Settings::of(options, now()).map_err(Refusal::fatal)?,
            json: Some(options.text("json")).filter(|path| !path.is_empty()).map(PathBuf::from),
            load_threads: load_threads(options)?,
        })
    }
}

fn load_threads(options: &Options) -> Result<u32, Refusal> {
    let asked = options.int("load-threads");
    u32::try_from(asked).ok().filter(|&asked| asked <= LOAD_THREADS_MAX).ok_or_else(|| {
        Refusal::fatal(format!("--load-threads: {asked} is not between 0 and {LOAD_THREADS_MAX}"))
    })
}

/// Returns the time since 1970 in nanoseconds, at least 1: the default seed.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (since.as_nanos() as u64).max(1)
}

fn whole(options: &Options, name: &str) -> Result<u64, Refusal> {
    let value = options.int(name);
    u64::try_from(value)
        .map_err(|_| Refusal::fatal(format!("Invalid value for --{name}: {value}.\n")))
}

fn seconds(options: &Options, name: &str) -> Result<Duration, Refusal> {
    let value = whole(options, name)?;
    Ok(Duration::from_secs(value.min(TIME_MAX_S as u64)))
}

/// Parses `off`, seconds, or a percentage of `--time`: the grace period. Without a time there is no
/// grace period.
fn forced(options: &Options, time: Option<Duration>) -> Result<Option<Duration>, Refusal> {
    let text = options.text("forced-shutdown");
    if text.eq_ignore_ascii_case("off") {
        return Ok(None);
    }
    let (digits, is_share) = text.strip_suffix('%').map_or((text, false), |digits| (digits, true));
    let number: u64 = match digits.trim() {
        "" => 0,
        digits => digits.parse().map_err(|_| {
            Refusal::fatal(format!("Invalid value for --forced-shutdown: '{text}'"))
        })?,
    };
    let Some(time) = time else { return Ok(None) };
    let number = number.min(TIME_MAX_S as u64);
    Ok(Some(match is_share {
        true => Duration::from_secs(time.as_secs().saturating_mul(number) / 100),
        false => Duration::from_secs(number),
    }))
}

fn stack(options: &Options) -> Result<usize, Refusal> {
    let bytes = options.int("thread-stack-size");
    usize::try_from(bytes)
        .ok()
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| Refusal::fatal(format!("Invalid value for thread-stack-size: {bytes}.\n")))
}

fn rate(options: &Options) -> Result<Option<f64>, Refusal> {
    let rate = options.double("rate");
    if rate < 0.0 {
        return Err(Refusal::fatal(format!("Invalid value for --rate: {rate}.\n")));
    }
    Ok(Some(rate).filter(|rate| *rate > 0.0))
}

fn checkpoints(options: &Options) -> Result<Vec<Duration>, Refusal> {
    let parse = |text: &String| match text.trim().parse::<u64>() {
        Ok(second) if second > 0 => Ok(Duration::from_secs(second.min(TIME_MAX_S as u64))),
        _ => Err(Refusal::fatal(format!("Invalid value for --report-checkpoints: '{text}'"))),
    };
    let mut points =
        options.list("report-checkpoints").iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    points.sort_unstable();
    points.dedup();
    Ok(points)
}

fn percentiles(options: &Options) -> Result<Percentiles, Refusal> {
    let text = match options.get("percentile") {
        Some(Value::Text(text)) => text.clone(),
        Some(Value::Int(rank)) => rank.to_string(),
        Some(Value::Double(rank)) => rank.to_string(),
        _ => "0".to_owned(),
    };
    Percentiles::parse(&text).map_err(Refusal::fatal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::options::given::Given;
    use crate::command::options::resolve::{Unknown, resolve};
    use crate::command::options::table;

    fn of(args: &[&str]) -> Result<Settings, String> {
        let declared: Vec<_> = table::all(Compat::V1_0);
        let given: Vec<_> = args.iter().filter_map(|arg| Given::parse(arg)).collect();
        let mut options = resolve(&declared, &given, Unknown::Refused)
            .map_err(|refusal| refusal.text().to_owned())?;
        take_over(&mut options);
        Settings::of(&options, Compat::V1_0).map_err(|refusal| refusal.text().to_owned())
    }

    #[test]
    fn defaults_are_sysbenchs() {
        let settings = of(&[]).unwrap();
        assert_eq!((settings.threads, settings.events), (1, 0));
        assert_eq!(settings.time, Some(Duration::from_secs(10)));
        assert_eq!((settings.forced, settings.rate_per_s, settings.interval), (None, None, None));
        assert_eq!(settings.percentiles.ranks(), [95.0]);
        assert_eq!(settings.random.kind, rand::Kind::Special);
    }

    #[test]
    fn a_forced_shutdown_is_seconds_or_a_share_of_the_time() {
        let forced = |text: &str| of(&[&format!("--forced-shutdown={text}"), "--time=20"]);
        let forced = |text| forced(text).map(|settings| settings.forced.map(|d| d.as_secs()));
        assert_eq!(forced("off"), Ok(None));
        assert_eq!(forced("5"), Ok(Some(5)));
        assert_eq!(forced("10%"), Ok(Some(2)));
        assert_eq!(forced(""), Ok(Some(0)));
        assert_eq!(forced("abc").unwrap_err(), "Invalid value for --forced-shutdown: 'abc'");
        assert_eq!(of(&["--forced-shutdown=5", "--time=0"]).unwrap().forced, None);
    }

    #[test]
    fn old_names_count() {
        let settings =
            of(&["--num-threads=2", "--max-requests=3", "--max-time=4", "--tx-rate=5"]).unwrap();
        assert_eq!((settings.threads, settings.events), (2, 3));
        assert_eq!((settings.time, settings.rate_per_s), (Some(Duration::from_secs(4)), Some(5.0)));
    }

    #[test]
    fn what_sysbench_has_not_a_rate_in_fractions_and_percentiles() {
        let settings = of(&["--rate=0.5", "--percentile=50,99.9"]).unwrap();
        assert_eq!(settings.rate_per_s, Some(0.5));
        assert_eq!(settings.percentiles.ranks(), [50.0, 99.9]);
    }

    #[test]
    fn impossible_values_are_refused() {
        for (arg, wanted) in [
            ("--threads=0", "Invalid value for --threads: 0."),
            ("--time=-1", "Invalid value for --time: -1."),
            ("--warmup-time=-1", "Invalid value for --warmup-time: -1."),
            ("--percentile=101", "Invalid value for --percentile: 101"),
            ("--report-checkpoints=a,b", "Invalid value for --report-checkpoints: 'a'"),
            ("--rand-type=foo", "Invalid random numbers distribution: foo."),
            ("--rate=-1", "Invalid value for --rate: -1."),
        ] {
            assert_eq!(of(&[arg]).unwrap_err().trim_end(), wanted, "{arg}");
        }
    }
}
