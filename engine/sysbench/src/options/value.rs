//! Parses option values from text and formats them.

use crate::options::{Declared, Kind, Value};

/// Parses `text` as a value of this kind; `text` is `None` if the option's name was given alone.
/// Returns `None` for text that this kind does not accept.
pub fn parse(kind: Kind, text: Option<&str>) -> Option<Value> {
    let Some(text) = text else {
        return (kind == Kind::Bool).then_some(Value::Bool(true));
    };
    match kind {
        Kind::Bool => switch(text).map(Value::Bool),
        Kind::Int | Kind::Size => size(text).map(Value::Int),
        Kind::Double => number(text).map(Value::Double),
        Kind::Number => size(text).map(Value::Int).or_else(|| lua_number(text)),
        Kind::Numbers => numbers(text),
        Kind::Text | Kind::File => Some(Value::Text(text.to_owned())),
        Kind::List => Some(Value::List(list(text))),
    }
}

/// The value of an option that has no default and was not given. Switches are on, as in sysbench,
/// because scripts may rely on it.
pub fn empty(kind: Kind) -> Value {
    match kind {
        Kind::Bool => Value::Bool(true),
        Kind::Int | Kind::Size | Kind::Number | Kind::Numbers => Value::Int(0),
        Kind::Double => Value::Double(0.0),
        Kind::Text | Kind::File => Value::Text(String::new()),
        Kind::List => Value::List(Vec::new()),
    }
}

/// Formats a default as the help shows it.
pub fn shown(declared: &Declared) -> Option<String> {
    let default = declared.default.as_ref()?;
    Some(match default {
        Value::Bool(on) => if *on { "on" } else { "off" }.to_owned(),
        Value::Int(bytes) if declared.kind == Kind::Size => size_text(*bytes),
        Value::Int(value) => value.to_string(),
        Value::Double(value) => value.to_string(),
        Value::Text(text) => text.clone(),
        Value::List(texts) => texts.join(","),
    })
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "on" | "true" | "1" => Some(true),
        "off" | "false" | "0" => Some(false),
        _ => None,
    }
}

/// Suffixes of integers, with the power of 2 that each stands for.
const SUFFIXES: [(char, u32); 4] = [('T', 40), ('G', 30), ('M', 20), ('K', 10)];

fn size(text: &str) -> Option<i64> {
    let text = text.trim();
    let last = text.chars().next_back()?;
    let suffix = SUFFIXES.iter().find(|(name, _)| last.eq_ignore_ascii_case(name));
    let (digits, shift) = suffix.map_or((text, 0), |(_, shift)| (&text[..text.len() - 1], *shift));
    digits.parse::<i64>().ok()?.checked_mul(1 << shift)
}

fn size_text(bytes: i64) -> String {
    for (name, shift) in SUFFIXES {
        if bytes != 0 && bytes % (1 << shift) == 0 {
            return format!("{}{name}", bytes >> shift);
        }
    }
    bytes.to_string()
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|value: &f64| value.is_finite())
}

/// Parses a number as Lua writes it: `2.5`, `1e3`, `0x10`.
fn lua_number(text: &str) -> Option<Value> {
    let text = text.trim();
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    if let Some(digits) = hex {
        return i64::from_str_radix(digits, 16).ok().map(Value::Int);
    }
    let value = number(text)?;
    let is_whole = value.fract() == 0.0 && value.abs() < 2_f64.powi(53);
    Some(if is_whole { Value::Int(value as i64) } else { Value::Double(value) })
}

fn numbers(text: &str) -> Option<Value> {
    if let Ok(one) = text.trim().parse() {
        return Some(Value::Int(one));
    }
    if let Some(one) = number(text) {
        return Some(Value::Double(one));
    }
    let are_numbers = text.split(',').all(|part| number(part.trim()).is_some());
    are_numbers.then(|| Value::Text(text.to_owned()))
}

/// An empty text between two commas is no list element.
fn list(text: &str) -> Vec<String> {
    text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_switch_is_a_name_alone_or_one_of_six_words() {
        let on = Some(Value::Bool(true));
        assert_eq!(parse(Kind::Bool, None), on);
        for text in ["on", "true", "1"] {
            assert_eq!(parse(Kind::Bool, Some(text)), on, "{text}");
        }
        for text in ["off", "false", "0"] {
            assert_eq!(parse(Kind::Bool, Some(text)), Some(Value::Bool(false)), "{text}");
        }
        for text in ["", "5", "foo", "ON"] {
            assert_eq!(parse(Kind::Bool, Some(text)), None, "{text}");
        }
    }

    #[test]
    fn sizes_have_suffixes_of_1024() {
        let size = |text| parse(Kind::Size, Some(text));
        assert_eq!(size("64K"), Some(Value::Int(65_536)));
        assert_eq!(size("2g"), Some(Value::Int(2 << 30)));
        assert_eq!(size("7"), Some(Value::Int(7)));
        assert_eq!(size("-1"), Some(Value::Int(-1)));
        for text in ["", "K", "1.5G", "1Q", "99999999999T", "1KK"] {
            assert_eq!(size(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_of_scripts_are_written_as_in_lua_or_with_a_suffix() {
        let read = |text| parse(Kind::Number, Some(text));
        for (text, value) in [("7", 7), ("1e3", 1000), ("0x10", 16), ("3K", 3072), ("-4", -4)] {
            assert_eq!(read(text), Some(Value::Int(value)), "{text}");
        }
        assert_eq!(read("2.5"), Some(Value::Double(2.5)));
        for text in ["", "abc", "0xg", "nan", "1.5K"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn one_number_is_a_number_and_several_are_text() {
        let numbers = |text| parse(Kind::Numbers, Some(text));
        assert_eq!(numbers("95"), Some(Value::Int(95)));
        assert_eq!(numbers("99.9"), Some(Value::Double(99.9)));
        assert_eq!(numbers("50,99.9"), Some(Value::Text("50,99.9".into())));
        assert_eq!(numbers("50,x"), None);
    }

    proptest! {
        #[test]
        fn a_shown_size_reads_as_itself(bytes in 0_i64..1 << 50, shift in 0_u32..13) {
            let bytes = bytes >> shift << shift;
            prop_assert_eq!(size(&size_text(bytes)), Some(bytes));
        }

        #[test]
        fn no_text_breaks_a_parser(text in ".*") {
            for kind in [Kind::Bool, Kind::Int, Kind::Size, Kind::Double, Kind::Numbers,
                         Kind::Text, Kind::File, Kind::List] {
                let _ = parse(kind, Some(&text));
            }
        }
    }
}
