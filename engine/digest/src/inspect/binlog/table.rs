//! Table map events, and the lengths of rows.
//!
//! Source: MySQL source documentation, "Table_map_event", types and their metadata; MariaDB knowledge
//! base, "TABLE_MAP_EVENT", compressed columns.

use dyno_protocol::bytes::Bytes;

/// Encoding of a value's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    /// A fixed number of bytes.
    Fixed(u8),
    /// A length prefix of so many bytes.
    Prefixed(u8),
}

/// A table as a binary log describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// Its schema.
    pub schema: Vec<u8>,
    /// Its name.
    pub name: Vec<u8>,
    widths: Vec<Width>,
    /// Whether each column is JSON, of which updates may hold parts.
    json: Vec<bool>,
    /// Indices of the primary key's columns; empty if the log does not describe the key.
    pub key: Vec<usize>,
}

/// Optional metadata fields: columns of the primary key, whole or by prefix.
const SIMPLE_PRIMARY_KEY: u8 = 8;
const PRIMARY_KEY_WITH_PREFIX: u8 = 9;

impl Table {
    /// Parses the body of a table map event after table ID and flags; `None` if it is malformed or has a
    /// column of an unknown type.
    pub fn read(body: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(body);
        let (schema, name) = (bytes.named()?.to_vec(), bytes.named()?.to_vec());
        let columns = usize::try_from(bytes.lenenc()?).ok()?;
        let types = bytes.take(columns)?;
        let metadata = bytes.lenenc()?;
        let mut metadata = Bytes(bytes.take(usize::try_from(metadata).ok()?)?);
        let widths =
            types.iter().map(|&kind| width(kind, &mut metadata)).collect::<Option<Vec<_>>>()?;
        bytes.take(columns.div_ceil(8))?;
        let json = types.iter().map(|&kind| kind == JSON).collect();
        Some(Self { schema, name, widths, json, key: key(bytes, columns) })
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.widths.len()
    }
}

fn key(mut bytes: Bytes<'_>, columns: usize) -> Vec<usize> {
    let mut field = || {
        let kind = bytes.byte()?;
        let length = bytes.lenenc()?;
        Some((kind, bytes.take(usize::try_from(length).ok()?)?))
    };
    while let Some((kind, value)) = field() {
        if kind != SIMPLE_PRIMARY_KEY && kind != PRIMARY_KEY_WITH_PREFIX {
            continue;
        }
        let mut value = Bytes(value);
        let mut key = vec![];
        while let Some(column) = value.lenenc() {
            key.push(column as usize);
            if kind == PRIMARY_KEY_WITH_PREFIX {
                value.lenenc();
            }
        }
        return if key.iter().all(|&column| column < columns) { key } else { vec![] };
    }
    vec![]
}

const JSON: u8 = 245;
const ENUM: u8 = 247;
const SET: u8 = 248;

fn width(kind: u8, metadata: &mut Bytes<'_>) -> Option<Width> {
    use Width::{Fixed, Prefixed};
    Some(match kind {
        1 | 13 => Fixed(1),
        2 => Fixed(2),
        9 | 10 | 11 | 14 => Fixed(3),
        3 | 7 => Fixed(4),
        8 | 12 => Fixed(8),
        6 => Fixed(0),
        4 | 5 => Fixed(metadata.byte()?),
        15 | 253 | 141 => Prefixed(if metadata.little(2)? > 255 { 2 } else { 1 }),
        16 => {
            let (bits, bytes) = (metadata.byte()?, metadata.byte()?);
            Fixed(bytes.checked_add(u8::from(bits > 0))?)
        }
        17 => Fixed(4 + metadata.byte()?.min(6).div_ceil(2)),
        18 => Fixed(5 + metadata.byte()?.min(6).div_ceil(2)),
        19 => Fixed(3 + metadata.byte()?.min(6).div_ceil(2)),
        140 | 242 | JSON | 249..=252 | 255 => Prefixed(metadata.byte()?.clamp(1, 4)),
        246 => Fixed(decimal(metadata.byte()?, metadata.byte()?)?),
        ENUM | SET => {
            metadata.byte()?;
            Fixed(metadata.byte()?)
        }
        254 => string(metadata.byte()?, metadata.byte()?),
        _ => return None,
    })
}

/// CHAR and BINARY, or ENUM and SET that are logged as strings: the first byte holds the type and,
/// inverted, two bits of the length.
fn string(first: u8, second: u8) -> Width {
    let kind = first | 0x30;
    if kind == ENUM || kind == SET {
        return Width::Fixed(second);
    }
    let length = u16::from(second) | u16::from((first & 0x30) ^ 0x30) << 4;
    Width::Prefixed(if length > 255 { 2 } else { 1 })
}

fn decimal(precision: u8, scale: u8) -> Option<u8> {
    const BYTES: [u8; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
    let digits = |n: u8| n / 9 * 4 + BYTES[usize::from(n % 9)];
    Some(digits(precision.checked_sub(scale)?) + digits(scale))
}

/// The rows of one row event.
#[derive(Debug)]
pub struct Rows<'a> {
    table: &'a Table,
    /// Bitmaps of the columns in the image before and (in updates) the image after.
    present: [&'a [u8]; 2],
    images: usize,
    /// The event is a partial update, which may hold parts of JSON values.
    is_partial: bool,
    bytes: Bytes<'a>,
}

impl<'a> Rows<'a> {
    /// Parses the number of columns and the bitmaps of a row event; `body` follows table ID, flags and
    /// extra data. The rest may be compressed: see [`unpacked`](Self::unpacked). `None`: the event does
    /// not fit the table.
    pub fn read(
        table: &'a Table,
        body: &'a [u8],
        is_update: bool,
        is_partial: bool,
    ) -> Option<Self> {
        let mut bytes = Bytes(body);
        let columns = usize::try_from(bytes.lenenc()?).ok()?;
        if columns != table.columns() {
            return None;
        }
        let before = bytes.take(columns.div_ceil(8))?;
        let after = if is_update { bytes.take(columns.div_ceil(8))? } else { before };
        let images = if is_update { 2 } else { 1 };
        Some(Self { table, present: [before, after], images, is_partial, bytes })
    }

    /// The bytes after the bitmaps.
    pub fn packed(&self) -> &'a [u8] {
        self.bytes.0
    }

    /// The same rows with `bytes`, decompressed, after the bitmaps.
    pub fn unpacked(self, bytes: &'a [u8]) -> Self {
        Self { bytes: Bytes(bytes), ..self }
    }

    /// Counts the rows. `key` receives the key's values of each row, and the new ones too if an update
    /// changes them; fewer values than key columns if the log omits some or they are NULL. `None`: the
    /// rows do not fit the table.
    pub fn count(mut self, key: &mut dyn FnMut(&[&[u8]])) -> Option<u64> {
        let (mut rows, mut before, mut after) = (0, vec![], vec![]);
        while !self.bytes.0.is_empty() {
            before.clear();
            self.image(0, &[], &mut before)?;
            key(&before);
            if self.images == 2 {
                after.clear();
                self.image(1, &before, &mut after)?;
                if after != before {
                    key(&after);
                }
            }
            rows += 1;
        }
        Some(rows)
    }

    /// Skips an image of a row. `key` receives the values of the key's columns; `before` supplies those
    /// that the image omits.
    fn image(&mut self, image: usize, before: &[&'a [u8]], key: &mut Vec<&'a [u8]>) -> Option<()> {
        let present = self.present[image];
        if self.is_partial && image == 1 && self.bytes.lenenc()? & 1 == 1 {
            let json = self.table.json.iter().enumerate();
            let parts = json.filter(|&(column, &is_json)| is_json && bit(present, column)).count();
            self.bytes.take(parts.div_ceil(8))?;
        }
        let there = match self.table.columns() {
            columns if is_full(present, columns) => columns,
            columns => (0..columns).filter(|&column| bit(present, column)).count(),
        };
        let nulls = self.bytes.take(there.div_ceil(8))?;
        // The values of `before` are identified by position: usable only if they are complete.
        let before = if before.len() == self.table.key.len() { before } else { &[] };
        let mut place = 0;
        for (column, &width) in self.table.widths.iter().enumerate() {
            let is_key = !self.table.key.is_empty() && self.table.key.contains(&column);
            if !bit(present, column) {
                key.extend(before.get(key.len()).filter(|_| is_key));
                continue;
            }
            let is_null = bit(nulls, place);
            place += 1;
            if is_null {
                continue;
            }
            let value = match width {
                Width::Fixed(length) => self.bytes.take(length.into())?,
                Width::Prefixed(length) => {
                    let length = self.bytes.little(length.into())?;
                    self.bytes.take(usize::try_from(length).ok()?)?
                }
            };
            if is_key {
                key.push(value);
            }
        }
        // Rows without columns would never end.
        (there > 0).then_some(())
    }
}

#[inline]
fn bit(bits: &[u8], at: usize) -> bool {
    bits.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1)
}

fn is_full(bits: &[u8], columns: usize) -> bool {
    (0..columns / 8).all(|byte| bits[byte] == 0xff)
        && (columns / 8 * 8..columns).all(|column| bit(bits, column))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `CREATE TABLE s.t (id INT, amount DECIMAL(10,2), name VARCHAR(300), kind ENUM, doc JSON)`.
    fn table() -> Table {
        let mut body = b"\x01s\0\x01t\0\x05\x03\xf6\x0f\xfe\xf5\x07".to_vec();
        body.extend_from_slice(&[10, 2, 0x2c, 1, 0xf7, 1, 4]);
        body.push(0b11111);
        // Its primary key: column 0.
        body.extend_from_slice(&[SIMPLE_PRIMARY_KEY, 1, 0]);
        Table::read(&body).unwrap()
    }

    fn row(id: u32, name: &[u8]) -> Vec<u8> {
        let mut row = vec![0];
        row.extend_from_slice(&id.to_le_bytes());
        row.extend_from_slice(&[0x80, 0, 0, 1, 50]);
        row.extend_from_slice(&(name.len() as u16).to_le_bytes());
        row.extend_from_slice(name);
        row.push(1);
        row.extend_from_slice(&[2, 0, 0, 0, b'{', b'}']);
        row
    }

    #[test]
    fn widths_follow_from_types_and_their_metadata() {
        let table = table();
        assert_eq!((&table.schema[..], &table.name[..]), (&b"s"[..], &b"t"[..]));
        use Width::{Fixed, Prefixed};
        assert_eq!(table.widths, [Fixed(4), Fixed(5), Prefixed(2), Fixed(1), Prefixed(4)]);
        assert_eq!(table.key, [0]);
        assert_eq!(string(0xfe, 10), Prefixed(1));
        assert_eq!(string(0xee, 0x58), Prefixed(2), "CHAR(200) of 3 bytes each: 600");
        assert_eq!(decimal(65, 30), Some(30));
        assert_eq!(decimal(2, 3), None);
    }

    #[test]
    fn rows_are_counted_and_their_keys_told() {
        let table = table();
        let mut body = vec![5, 0b11111];
        body.extend(row(7, b"seven"));
        body.extend(row(8, &[b'x'; 299]));
        // All columns but the first are NULL.
        body.extend_from_slice(&[0b11110, 9, 0, 0, 0]);
        let mut keys = vec![];
        let rows = Rows::read(&table, &body, false, false).unwrap();
        assert_eq!(rows.count(&mut |key| keys.push(key[0][0])), Some(3));
        assert_eq!(keys, [7, 8, 9]);
        body.pop();
        assert_eq!(Rows::read(&table, &body, false, false).unwrap().count(&mut |_| ()), None);
    }

    #[test]
    fn an_update_has_two_images_of_the_columns_it_names() {
        let table = table();
        // Before: the key; after: the name.
        let body = [5, 0b00001, 0b00100, 0, 7, 0, 0, 0, 0, 1, 0, b'n'];
        let mut keys = vec![];
        let rows = Rows::read(&table, &body, true, false).unwrap();
        assert_eq!(rows.count(&mut |key| keys.push(key[0][0])), Some(1));
        assert_eq!(keys, [7], "the key is what it was");
    }

    #[test]
    fn an_update_of_the_key_tells_the_old_one_and_the_new_one() {
        let table = Table { key: vec![0, 3], ..table() };
        let told = |body: &[u8]| {
            let mut keys: Vec<Vec<u8>> = vec![];
            let rows = Rows::read(&table, body, true, false).unwrap();
            assert_eq!(rows.count(&mut |key| keys.push(key.concat())), Some(1));
            keys
        };
        // Both columns before, only the second one after.
        let second = [5, 0b01001, 0b01000, 0, 7, 0, 0, 0, 1, 0, 2];
        assert_eq!(told(&second), [[7, 0, 0, 0, 1], [7, 0, 0, 0, 2]]);
        let same = [5, 0b01001, 0b01000, 0, 7, 0, 0, 0, 1, 0, 1];
        assert_eq!(told(&same), [[7, 0, 0, 0, 1]]);
        // A key of which neither image holds the second column.
        let cut = [5, 0b00001, 0b00001, 0, 7, 0, 0, 0, 0, 8, 0, 0, 0];
        assert_eq!(told(&cut), [[7, 0, 0, 0], [8, 0, 0, 0]]);
    }

    #[test]
    fn rows_of_another_table_or_of_no_columns_are_refused() {
        let table = table();
        assert!(Rows::read(&table, &[4, 0b1111, 0], false, false).is_none());
        let none = Rows::read(&table, &[5, 0, 1, 2, 3], false, false).unwrap();
        assert_eq!(none.count(&mut |_| ()), None);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_are_too_strange(body: Vec<u8>, is_update: bool, is_partial: bool) {
            let _ = Table::read(&body);
            if let Some(rows) = Rows::read(&table(), &body, is_update, is_partial) {
                rows.count(&mut |_| ());
            }
        }
    }
}
