//! `latency.hlog`: the HdrHistogram log format 1.3, which HdrHistogram's own tools read.
//!
//! Each histogram is encoded as V2 (ZigZag LEB128 counts, runs of zeros as negative numbers),
//! compressed (zlib) and written as base64. Tags: `GROUP` for each measured interval, `GROUP/!warmup` for
//! each interval before, and once at the end `GROUP/CLASS`, `GROUP/!kind.KIND` (of transactions),
//! `GROUP/!errors` and `!lag`; for an open loop also `GROUP/!response` (with the ages of arrivals
//! left) and `GROUP/!dispatch`.
//! Source: HdrHistogram's documented log and V2 formats (public domain, CC0).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dyno_core::histogram::{HIGHEST_NS, Histogram};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// V2 cookie with the word-size bits that all implementations write.
const COOKIE: u32 = 0x1c84_9303 | 0x10;
const COOKIE_COMPRESSED: u32 = 0x1c84_9304 | 0x10;
const SIGNIFICANT_DIGITS: u32 = 2;

/// An open log.
#[derive(Debug)]
pub struct Hlog<W: Write> {
    out: W,
}

impl Hlog<BufWriter<File>> {
    /// Creates the file.
    ///
    /// # Errors
    /// The system's.
    pub fn create(path: &Path, start_unix_s: f64) -> io::Result<Self> {
        Self::new(BufWriter::new(File::create(path)?), start_unix_s)
    }
}

impl<W: Write> Hlog<W> {
    /// Writes the header; all times are relative to `start_unix_s`.
    ///
    /// # Errors
    /// The system's.
    pub fn new(mut out: W, start_unix_s: f64) -> io::Result<Self> {
        writeln!(out, "#[Histogram log format version 1.3]")?;
        writeln!(out, "#[StartTime: {start_unix_s:.3} (seconds since epoch)]")?;
        writeln!(
            out,
            "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\""
        )?;
        Ok(Self { out })
    }

    /// Writes one line: from `start_s` on, `length_s` long. The maximum is in milliseconds, as the
    /// format requires.
    ///
    /// # Errors
    /// The system's.
    pub fn line(
        &mut self,
        tag: &str,
        start_s: f64,
        length_s: f64,
        histogram: &Histogram,
    ) -> io::Result<()> {
        debug_assert!(!tag.contains([',', ' ', '\n']), "{tag:?} would break the line");
        let max_ms = histogram.max_ns() as f64 / 1e6;
        let body = encode(histogram)?;
        writeln!(self.out, "Tag={tag},{start_s:.3},{length_s:.3},{max_ms:.6},{body}")
    }

    /// Flushes the log to the system.
    ///
    /// # Errors
    /// The system's.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Encodes a histogram as compressed V2 in base64.
///
/// # Errors
/// None in practice: it writes to memory.
pub fn encode(histogram: &Histogram) -> io::Result<String> {
    let mut deflate = ZlibEncoder::new(Vec::new(), Compression::default());
    deflate.write_all(&encode_v2(histogram))?;
    let body = deflate.finish()?;
    let mut out = Vec::with_capacity(8 + body.len());
    out.extend_from_slice(&COOKIE_COMPRESSED.to_be_bytes());
    out.extend_from_slice(&(body.len() as u32).to_be_bytes());
    out.extend_from_slice(&body);
    Ok(STANDARD.encode(out))
}

fn encode_v2(histogram: &Histogram) -> Vec<u8> {
    let counts = histogram.counts();
    let used = counts.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
    let mut body = Vec::with_capacity(256);
    let mut bucket = 0;
    while bucket < used {
        let zeros = counts[bucket..used].iter().take_while(|&&count| count == 0).count();
        if zeros > 0 {
            // Trailing zeros are excluded, so that a run always ends before `used`.
            put_zigzag(-(zeros as i64), &mut body);
            bucket += zeros;
        } else {
            put_zigzag(counts[bucket] as i64, &mut body);
            bucket += 1;
        }
    }
    let mut out = Vec::with_capacity(40 + body.len());
    out.extend_from_slice(&COOKIE.to_be_bytes());
    out.extend_from_slice(&(body.len() as u32).to_be_bytes());
    out.extend_from_slice(&0_u32.to_be_bytes()); // normalizing index offset
    out.extend_from_slice(&SIGNIFICANT_DIGITS.to_be_bytes());
    out.extend_from_slice(&1_u64.to_be_bytes()); // lowest discernible value
    out.extend_from_slice(&HIGHEST_NS.to_be_bytes());
    out.extend_from_slice(&1.0_f64.to_be_bytes()); // integer to double ratio
    out.extend_from_slice(&body);
    out
}

/// ZigZag, then LEB128 of at most nine bytes: the ninth carries eight bits.
fn put_zigzag(value: i64, out: &mut Vec<u8>) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    for _ in 0..8 {
        if rest < 0x80 {
            out.push(rest as u8);
            return;
        }
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::histogram::range_of;
    use hdrhistogram::serialization::Deserializer;
    use proptest::prelude::*;

    /// Decodes our encoding with the HdrHistogram project's own reader.
    fn decode(text: &str) -> hdrhistogram::Histogram<u64> {
        let bytes = STANDARD.decode(text).unwrap();
        Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap()
    }

    proptest! {
        #[test]
        fn hdrhistogram_reads_what_we_write(
            values in prop::collection::vec((0_u32..42, 1_u64..100_000), 0..300)
        ) {
            let mut histogram = Histogram::default();
            for (shift, value) in values {
                histogram.record((value << shift).min(HIGHEST_NS));
            }
            let read = decode(&encode(&histogram).unwrap());
            prop_assert_eq!(read.len(), histogram.count());
            for (bucket, &count) in histogram.counts().iter().enumerate() {
                if count > 0 {
                    prop_assert_eq!(read.count_at(range_of(bucket).0), count);
                }
            }
        }
    }

    #[test]
    fn large_counts_and_empty_histograms_survive() {
        let mut histogram = Histogram::default();
        assert_eq!(decode(&encode(&histogram).unwrap()).len(), 0);
        for (bucket, count) in [(3, 1), (300, u64::MAX >> 3), (4500, 1 << 40)] {
            histogram.add_bucket(bucket, count);
        }
        let read = decode(&encode(&histogram).unwrap());
        assert_eq!(read.count_at(range_of(300).0), u64::MAX >> 3);
        assert_eq!(read.count_at(range_of(4500).0), 1 << 40);
    }

    #[test]
    fn a_log_has_its_header_and_one_line_a_histogram() {
        let mut bytes = Vec::new();
        let mut log = Hlog::new(&mut bytes, 1_700_000_000.5).unwrap();
        let mut histogram = Histogram::default();
        histogram.record(1_000_000);
        log.line("readers/point_select", 1.0, 30.0, &histogram).unwrap();
        log.flush().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[1], "#[StartTime: 1700000000.500 (seconds since epoch)]");
        assert!(
            lines[3].starts_with("Tag=readers/point_select,1.000,30.000,1.003519,HISTFAAA"),
            "{}",
            lines[3]
        );
    }
}
