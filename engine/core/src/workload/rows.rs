//! Rows of one answer, kept as text for a workload that composes its next operations from them
//! ([`Workload::more`](crate::workload::Workload::more)).

use std::fmt;

/// Upper bound of the bytes of one answer's rows: a workload that reads more of them does the
/// server's work. Each of thousands of sessions may keep as much.
pub const KEPT_BYTES_MAX: usize = 1 << 20;
/// The length of a value that is NULL.
const NULL: u32 = u32::MAX;
/// Bytes of a length.
const HEAD: usize = 4;

/// Rows in order. Each is its length in bytes and its values, and each value its length and its
/// bytes: one allocation per answer, none for an answer without kept rows.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Rows {
    bytes: Vec<u8>,
    /// Where the last row begins.
    last: usize,
    is_unknown: bool,
}

impl Rows {
    /// Rows of an answer without a system (null driver, examples of statements): a workload
    /// continues with any values.
    pub fn unknown() -> Self {
        Self { is_unknown: true, ..Self::default() }
    }

    /// Whether no system answered.
    pub fn is_unknown(&self) -> bool {
        self.is_unknown
    }

    /// Begins a row.
    pub fn row(&mut self) {
        self.last = self.bytes.len();
        self.bytes.extend_from_slice(&0_u32.to_le_bytes());
    }

    /// Appends a value to the row begun last; `None` is NULL.
    pub fn value(&mut self, value: Option<&[u8]>) {
        debug_assert!(!self.bytes.is_empty(), "a value outside any row");
        match value {
            None => self.bytes.extend_from_slice(&NULL.to_le_bytes()),
            Some(value) => {
                self.bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
                self.bytes.extend_from_slice(value);
            }
        }
        let length = (self.bytes.len() - self.last - HEAD) as u32;
        self.bytes[self.last..self.last + HEAD].copy_from_slice(&length.to_le_bytes());
    }

    /// Whether it holds more than [`KEPT_BYTES_MAX`]: drivers refuse to go on.
    pub fn is_too_long(&self) -> bool {
        self.bytes.len() > KEPT_BYTES_MAX
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Its rows in order.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        let mut rest = &self.bytes[..];
        std::iter::from_fn(move || take(&mut rest).map(|row| Row(row.unwrap_or_default())))
    }

    /// The first row.
    pub fn first(&self) -> Option<Row<'_>> {
        self.iter().next()
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Values of one row.
#[derive(Clone, Copy)]
pub struct Row<'a>(&'a [u8]);

impl<'a> Row<'a> {
    /// Its values in order; `None` is NULL.
    pub fn values(self) -> impl Iterator<Item = Option<&'a [u8]>> {
        let mut rest = self.0;
        std::iter::from_fn(move || take(&mut rest))
    }

    /// Value number `place` (0-based); `None` if NULL or missing.
    pub fn get(self, place: usize) -> Option<&'a [u8]> {
        self.values().nth(place).flatten()
    }

    /// The value as text; `None` if NULL, missing, or not UTF-8.
    pub fn text(self, place: usize) -> Option<&'a str> {
        self.get(place).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// The value as a whole number.
    pub fn int(self, place: usize) -> Option<i64> {
        self.text(place)?.trim().parse().ok()
    }

    /// The number in units of `10^-scale`, rounded half away from zero: `12.345` with scale 2 is
    /// 1235. Systems without decimals answer with a double's digits.
    pub fn decimal(self, place: usize, scale: u8) -> Option<i64> {
        let text = self.text(place)?.trim();
        if text.contains(['e', 'E']) {
            let unscaled = text.parse::<f64>().ok()? * 10_f64.powi(i32::from(scale));
            return (unscaled.abs() < 9e15).then_some(unscaled.round() as i64);
        }
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => (-1, digits),
            None => (1, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let mut unscaled: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let mut decimals = fraction.bytes();
        for _ in 0..scale {
            let digit = decimals.next().map_or(Some(0), digit)?;
            unscaled = unscaled.checked_mul(10)?.checked_add(digit)?;
        }
        let rounds_up = decimals.next().map_or(Some(0), digit)? >= 5;
        Some(sign * (unscaled + i64::from(rounds_up)))
    }
}

impl fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.values().map(|value| value.map(String::from_utf8_lossy));
        f.debug_list().entries(shown).finish()
    }
}

fn digit(byte: u8) -> Option<i64> {
    byte.is_ascii_digit().then(|| i64::from(byte - b'0'))
}

/// Takes a length and that many bytes off the front; the inner `None` is NULL.
fn take<'a>(rest: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let (head, tail) = rest.split_first_chunk::<HEAD>()?;
    let length = u32::from_le_bytes(*head);
    let bytes = if length == NULL { 0 } else { length as usize };
    let (value, tail) = tail.split_at(bytes);
    *rest = tail;
    Some((length != NULL).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(values: &[&str]) -> Rows {
        let mut rows = Rows::default();
        rows.row();
        values.iter().for_each(|value| rows.value(Some(value.as_bytes())));
        rows
    }

    #[test]
    fn numbers_are_read_as_servers_write_them() {
        let rows = one(&["-12", "3.5", "-0.005", "12.344", "1e2", "", "x", "7", "99.995"]);
        let row = rows.first().unwrap();
        assert_eq!((row.int(0), row.int(1), row.int(6), row.int(9)), (Some(-12), None, None, None));
        let cents: Vec<_> = (0..9).map(|place| row.decimal(place, 2)).collect();
        let want = [-1200, 350, -1, 1234, 10000, 0].map(Some).into_iter();
        assert_eq!(cents, want.chain([None, Some(700), Some(10000)]).collect::<Vec<_>>());
    }

    #[test]
    fn a_row_without_values_is_a_row() {
        let mut rows = Rows::default();
        assert!(rows.is_empty() && rows.first().is_none());
        rows.row();
        rows.row();
        rows.value(None);
        assert_eq!(rows.iter().count(), 2);
        assert_eq!(rows.iter().nth(1).unwrap().values().collect::<Vec<_>>(), [None]);
        assert_eq!(format!("{rows:?}"), "[[], [None]]");
    }

    proptest! {
        #[test]
        fn rows_come_back(rows: Vec<Vec<Option<Vec<u8>>>>) {
            let mut kept = Rows::default();
            for row in &rows {
                kept.row();
                row.iter().for_each(|value| kept.value(value.as_deref()));
            }
            let read: Vec<Vec<Option<Vec<u8>>>> =
                kept.iter().map(|row| row.values().map(|v| v.map(<[u8]>::to_vec)).collect()).collect();
            prop_assert_eq!(read, rows);
        }

        #[test]
        fn decimals_come_back(unscaled in -1_000_000_000_000_i64..1_000_000_000_000, scale in 0..6_u8) {
            let mut digits = vec![];
            crate::workload::put_decimal(unscaled, scale, &mut digits);
            let rows = one(&[std::str::from_utf8(&digits).unwrap()]);
            prop_assert_eq!(rows.first().unwrap().decimal(0, scale), Some(unscaled));
        }
    }
}
