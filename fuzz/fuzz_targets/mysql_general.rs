//! Parses arbitrary bytes as a general query log of MySQL.
#![no_main]

mod reading;

use dyno_digest::logs::format::Settings;
use reading::{Places, Way};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some(way) = Way::of(data) else { return };
    let utc_offset_s = i32::from(way.choice % 3) * 3600;
    let settings = Settings { utc_offset_s, ..Settings::default() };
    reading::read(reading::format("mysql-general"), Places::Late, &settings, &way);
});
