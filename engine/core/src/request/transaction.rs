//! Operations with their parameters: what a workload composes and a driver sends.

use std::ops::Range;

/// A parameter's value. Text lies in the transaction's arena.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// Whole number.
    Int(i64),
    /// The exact number `unscaled / 10^scale`.
    Decimal {
        /// All its digits, without the point.
        unscaled: i64,
        /// Number of digits after the point, up to [`SCALE_MAX`].
        scale: u8,
    },
    /// Finite floating-point number.
    Double(f64),
    /// True or false.
    Bool(bool),
    /// Bytes `range` of [`Transaction::text`].
    Text(Range<u32>),
}

/// Largest number of digits after a decimal's point.
pub const SCALE_MAX: u8 = 18;

/// Writes `unscaled / 10^scale` with all its decimals: `-0.05`.
pub fn put_decimal(unscaled: i64, scale: u8, out: &mut Vec<u8>) {
    // Sign, up to 20 digits, a leading zero, a point.
    let mut buffer = [b'0'; 24];
    let (mut at, mut rest, mut digits) = (buffer.len(), unscaled.unsigned_abs(), 0);
    loop {
        if digits == scale.min(SCALE_MAX) && digits > 0 {
            at -= 1;
            buffer[at] = b'.';
        }
        if rest == 0 && digits > scale.min(SCALE_MAX) {
            break;
        }
        at -= 1;
        buffer[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        digits += 1;
    }
    if unscaled < 0 {
        at -= 1;
        buffer[at] = b'-';
    }
    out.extend_from_slice(&buffer[at..]);
}

/// One operation of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    /// Index into [`Workload::requests`](crate::workload::Workload::requests).
    pub request: u16,
    /// Its parameters: a range of [`Transaction::values`].
    pub values: Range<u32>,
}

/// Operations that commit together. Refilled for every transaction; allocates only until its
/// buffers have grown to the largest transaction. A retry sends it again unchanged, except for
/// operations that depend on answers.
#[derive(Debug, Default)]
pub struct Transaction {
    /// Index into [`Workload::kinds`](crate::workload::Workload::kinds), where there are any.
    pub kind: u8,
    /// Operations in order.
    pub ops: Vec<Op>,
    /// Parameters of all operations.
    pub values: Vec<Value>,
    /// Arena of text parameters.
    pub text: Vec<u8>,
}

impl Transaction {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.kind = 0;
        self.ops.clear();
        self.values.clear();
        self.text.clear();
    }

    /// Appends an operation whose parameters are the values pushed since the last one.
    pub fn op(&mut self, request: u16) {
        let start = self.ops.last().map_or(0, |op| op.values.end);
        self.ops.push(Op { request, values: start..self.values.len() as u32 });
    }

    /// Appends a whole-number parameter for the next [`op`](Self::op).
    pub fn int(&mut self, value: i64) {
        self.values.push(Value::Int(value));
    }

    /// Appends a parameter that needs no text for the next [`op`](Self::op).
    #[inline]
    pub fn value(&mut self, value: Value) {
        debug_assert!(!matches!(value, Value::Text(_)), "text is written by `text`");
        self.values.push(value);
    }

    /// Appends a text parameter for the next [`op`](Self::op), written by `write` into the arena.
    pub fn text(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.text.len() as u32;
        write(&mut self.text);
        self.values.push(Value::Text(start..self.text.len() as u32));
    }

    /// The parameters of an operation.
    pub fn values_of(&self, op: &Op) -> &[Value] {
        &self.values[op.values.start as usize..op.values.end as usize]
    }

    /// The bytes of a text parameter.
    pub fn text_of(&self, range: &Range<u32>) -> &[u8] {
        &self.text[range.start as usize..range.end as usize]
    }
}
