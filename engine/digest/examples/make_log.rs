//! Writes a slow log of MySQL to standard output, for benches: a pure function of its arguments.
//!
//! `make_log BYTES CLASSES STATEMENT_BYTES SEED`: at least BYTES of log; statements of CLASSES classes,
//! the first ones more often; 5 % of them are longer than 4 KB, the others about STATEMENT_BYTES long.

use dyno_core::random::rng::Rng;
use std::io::{self, BufWriter, Write};

fn main() -> io::Result<()> {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let [bytes, classes, length, seed] = numbers[..] else {
        eprintln!("make_log BYTES CLASSES STATEMENT_BYTES SEED");
        std::process::exit(2);
    };
    let mut rng = Rng::new(seed);
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    let (mut written, mut n) = (0, 0_u64);
    let mut event = Vec::with_capacity(64 << 10);
    while written < bytes {
        event.clear();
        write_event(&mut event, &mut rng, n, classes, length)?;
        out.write_all(&event)?;
        written += event.len() as u64;
        n += 1;
    }
    out.flush()
}

fn write_event(
    to: &mut Vec<u8>,
    rng: &mut Rng,
    n: u64,
    classes: u64,
    length: u64,
) -> io::Result<()> {
    let at = 1_700_000_000_000 + n * 2;
    let magnitude = 8 + rng.below(12);
    let micros = 1 + rng.below(1 << magnitude);
    // The square makes small numbers more likely.
    let share = rng.below(1 << 20);
    let class = (((share * share) >> 20) * classes) >> 20;
    let user = rng.below(5);
    write!(
        to,
        "# User@Host: app{user}[app{user}] @ web{user} [10.0.0.{user}]  Id: {}\n\
         # Query_time: {}.{:06}  Lock_time: 0.{:06} Rows_sent: {}  Rows_examined: {}\n\
         SET timestamp={};\n",
        100 + rng.below(64),
        micros / 1_000_000,
        micros % 1_000_000,
        rng.below(100),
        rng.below(50),
        rng.below(5000),
        at / 1000,
    )?;
    write!(to, "SELECT c{class}, name FROM orders_{class} WHERE id = {}", rng.below(1 << 30))?;
    let is_long = rng.below(100) < 5;
    let wanted = if is_long { 4200 } else { length } as usize;
    let begin = to.len();
    if is_long {
        to.extend_from_slice(b" AND k IN (0");
        while to.len() - begin < wanted {
            write!(to, ", {}", rng.below(1 << 24))?;
        }
        to.push(b')');
    }
    let mut column = 0;
    while to.len() - begin < wanted {
        column += 1;
        write!(to, " AND a{column} = 'value {}'", rng.below(1 << 30))?;
    }
    to.extend_from_slice(b";\n");
    Ok(())
}
