//! Fingerprints of MongoDB's commands, which its log writes in JSON.
//!
//! Keys and operators stay; values become `?`. Arrays of values become `[?+]`; other arrays keep one of
//! each run of equal items. The names of the command, its collection, the collections that `$lookup` and
//! similar stages read, and the field of `distinct` are not values. The argument of a command that is not
//! in the list (`known_names`) may be anything and therefore becomes `?`. Session fields (`lsid`,
//! `$clusterTime`, ...) and comments are omitted. A path such as `"$status"` looks like a string that
//! begins with `$` and becomes `?`, except in keys of groups, where such strings are paths. Sort
//! directions (1, -1) stay.
//! (MongoDB manual: "Database Commands", "Log Messages", "MongoDB Extended JSON (v2)".)

mod known_names;

use crate::sql::distilled::Distilled;
use known_names::{SESSION, TYPES, is_of_collection};

const TEXT_MAX: usize = 256 * 1024;
const KEY_BYTES_MAX: usize = 256;
const DEPTH_MAX: usize = 200;

/// The command whose collection is in the field `collection`.
pub(crate) const GET_MORE: &[u8] = b"getMore";

/// The command with `?` for its values.
pub(crate) fn fingerprint(command: &[u8]) -> String {
    let mut reader = Reader::new(command);
    reader.read();
    String::from_utf8_lossy(&reader.text).into_owned()
}

/// The command's name in capitals, and its collection.
pub(crate) fn distill(command: &[u8]) -> Distilled {
    let mut reader = Reader::new(command);
    let members = reader.names();
    let named = |name: &[u8]| members.iter().find(|(key, _)| *key == name);
    let Some((first, value)) = members.first() else { return Distilled::default() };
    let verb = match *first {
        // The log's form of one write within a command.
        b"q" if named(b"u").is_some() => "UPDATE".to_owned(),
        b"q" => "DELETE".to_owned(),
        name if name.len() > KEY_BYTES_MAX => "?".to_owned(),
        name => String::from_utf8_lossy(name).to_uppercase(),
    };
    let collection = match *first {
        GET_MORE => named(b"collection").and_then(|(_, value)| *value),
        name if is_of_collection(name) => *value,
        _ => None,
    };
    let tables = collection.filter(|name| !name.is_empty() && name.len() <= KEY_BYTES_MAX);
    Distilled {
        verb,
        tables: tables.map(|name| String::from_utf8_lossy(name).into_owned()).into_iter().collect(),
    }
}

/// An open object or array.
#[derive(Debug, Clone, Copy)]
struct Frame {
    is_array: bool,
    /// Offset of its opening bracket in the output.
    begin: usize,
    /// Offset of the current member or item in the output.
    item: usize,
    /// The previous item of an array.
    before: Option<(usize, usize)>,
    /// Members or items so far.
    count: usize,
    /// In arrays: whether all items were values.
    is_flat: bool,
    /// The key of which this is the value, as a range of the command.
    key: (usize, usize),
    /// This is the value of an omitted key.
    is_dropped: bool,
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    text: Vec<u8>,
    frames: Vec<Frame>,
    /// The key of the current value, as a range of the command.
    key: (usize, usize),
    /// The first key of the outermost object: the command's name.
    command: &'a [u8],
    /// Number of open brackets without a frame, beyond the maximum depth.
    lost: usize,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            text: Vec::new(),
            frames: Vec::new(),
            key: (0, 0),
            command: b"",
            lost: 0,
        }
    }

    fn read(&mut self) {
        while self.text.len() < TEXT_MAX {
            let Some(&byte) = self.bytes.get(self.at) else { break };
            match byte {
                b'{' | b'[' => self.open(byte),
                b'}' | b']' => self.close(byte),
                b'"' => self.string(),
                b',' | b':' | 0..=b' ' => self.at += 1,
                _ => self.scalar(),
            }
        }
        while !self.frames.is_empty() {
            let is_array = self.frames.last().is_some_and(|frame| frame.is_array);
            self.lost = 0;
            self.close(if is_array { b']' } else { b'}' });
        }
    }

    /// The members of the outermost object: (key, string value).
    fn names(&mut self) -> Vec<(&'a [u8], Option<&'a [u8]>)> {
        let mut members: Vec<(&'a [u8], Option<&'a [u8]>)> = Vec::new();
        let mut depth = 0u64;
        let mut is_value = false;
        while let Some(&byte) = self.bytes.get(self.at) {
            let begin = self.at;
            self.at += 1;
            match byte {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                b',' => is_value = false,
                b':' => is_value = true,
                b'"' => {
                    let (from, to) = self.string_at(begin);
                    let text = &self.bytes[from..to];
                    match (depth, is_value) {
                        (1, false) if members.len() < 100 => members.push((text, None)),
                        (1, true) => {
                            if let Some(last) = members.last_mut() {
                                last.1 = Some(text);
                            }
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        members
    }

    /// The range between the quotes of the string at `begin`; moves past the string.
    fn string_at(&mut self, begin: usize) -> (usize, usize) {
        let mut at = begin + 1;
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let Some(found) = memchr::memchr2(b'"', b'\\', rest) else {
                self.at = self.bytes.len();
                return ((begin + 1).min(self.at), self.at);
            };
            at += found;
            if self.bytes[at] == b'"' {
                self.at = at + 1;
                return (begin + 1, at);
            }
            at += 2;
        }
    }

    fn string(&mut self) {
        let (from, to) = self.string_at(self.at);
        let is_key = self.frames.last().is_some_and(|frame| !frame.is_array)
            && self.bytes[self.at..].trim_ascii_start().first() == Some(&b':');
        if is_key && self.lost == 0 {
            return self.member(from, to);
        }
        if self.is_name(from, to) || self.is_group_key(from, to) {
            let name = &self.bytes[from..to];
            self.begin_item();
            self.quoted(name);
            self.end_item(false);
        } else {
            self.value();
        }
    }

    /// Begins a member with the key `from..to`; the previous member has ended.
    fn member(&mut self, from: usize, to: usize) {
        self.at += self.bytes[self.at..].iter().position(|&b| b == b':').map_or(0, |at| at + 1);
        self.drop_member();
        let is_long = to - from > KEY_BYTES_MAX;
        self.key = if is_long { (0, 0) } else { (from, to) };
        let length = self.text.len();
        if let Some(frame) = self.frames.last_mut() {
            frame.item = length;
            frame.count += 1;
            frame.key = self.key;
            if frame.count > 1 {
                self.text.push(b',');
            }
        }
        if is_long {
            self.text.push(b'?');
        } else {
            self.quoted(&self.bytes[from..to]);
        }
        self.text.push(b':');
        if let [command] = self.frames.as_slice()
            && command.count == 1
            && !is_long
        {
            self.command = &self.bytes[from..to];
        }
        let is_dropped = self.frames.len() == 1 && SESSION.contains(&&self.bytes[from..to]);
        if let Some(frame) = self.frames.last_mut() {
            frame.is_dropped = is_dropped;
        }
    }

    /// Removes the last member from the output if it is omitted.
    fn drop_member(&mut self) {
        if let Some(frame) = self.frames.last_mut()
            && !frame.is_array
            && frame.is_dropped
        {
            self.text.truncate(frame.item);
            frame.is_dropped = false;
            frame.count -= 1;
        }
    }

    /// Whether this string is the name of a collection, or the field of `distinct`.
    fn is_name(&self, from: usize, to: usize) -> bool {
        if to - from > KEY_BYTES_MAX || self.lost > 0 {
            return false;
        }
        let key = &self.bytes[self.key.0..self.key.1];
        match self.frames.as_slice() {
            [command] if !command.is_array => match self.command {
                GET_MORE => key == b"collection",
                b"distinct" if key == b"key" => true,
                name => command.count == 1 && key == name && is_of_collection(name),
            },
            [stages @ .., stage, last] if !stage.is_array && !last.is_array => {
                let reads = match self.key_of(stage) {
                    b"$lookup" | b"$graphLookup" => key == b"from",
                    b"$unionWith" => key == b"coll",
                    _ => false,
                };
                reads && self.is_pipeline(stages)
            }
            _ => false,
        }
    }

    /// Whether this string is a path in the key of a group. All strings there that begin with `$` are
    /// paths, except within `$literal`.
    fn is_group_key(&self, from: usize, to: usize) -> bool {
        let path = &self.bytes[from..to];
        let is_path = path.starts_with(b"$")
            && path.len() <= KEY_BYTES_MAX
            && path.iter().all(|b| b.is_ascii_alphanumeric() || b"$_.".contains(b) || *b >= 0x80);
        is_path && self.lost == 0 && (0..self.frames.len()).any(|at| self.groups_at(at))
    }

    /// Whether the current value is in the group key of the stage in frame `at`.
    fn groups_at(&self, at: usize) -> bool {
        let (outer, inner) = self.frames.split_at(at);
        let [stage, keys @ ..] = inner else { return false };
        let owner = keys.first().map(|keys| self.key_of(keys)).unwrap_or_default();
        let is_key = match self.key_of(stage) {
            b"$group" => owner == b"_id",
            b"$bucket" | b"$bucketAuto" => owner == b"groupBy",
            b"$sortByCount" => true,
            _ => false,
        };
        is_key
            && !stage.is_array
            && keys.iter().all(|keys| !matches!(self.key_of(keys), b"$literal" | b"$const"))
            && self.is_pipeline(outer)
    }

    /// Whether this is the direction of a sort.
    fn is_direction(&self, word: &[u8]) -> bool {
        if self.lost > 0 || !matches!(word, b"1" | b"-1" | b"1.0" | b"-1.0") {
            return false;
        }
        match self.frames.as_slice() {
            [command, keys] if !command.is_array && !keys.is_array => {
                self.key_of(command) == b"sort" && is_of_collection(self.command)
            }
            [stages @ .., stage, keys] if !stage.is_array && !keys.is_array => {
                self.key_of(stage) == b"$sort" && self.is_pipeline(stages)
            }
            _ => false,
        }
    }

    /// Whether the last frame is an array of stages: the command's, or one within a stage.
    fn is_pipeline(&self, frames: &[Frame]) -> bool {
        let [outer @ .., owner, stages] = frames else { return false };
        if !stages.is_array || owner.is_array {
            return false;
        }
        let is_pipeline = self.key_of(owner) == b"pipeline";
        match outer {
            [] => is_pipeline,
            [outer @ .., stage] if !stage.is_array => {
                let holds = match self.key_of(stage) {
                    b"$facet" => true,
                    b"$lookup" | b"$unionWith" => is_pipeline,
                    _ => false,
                };
                holds && self.is_pipeline(outer)
            }
            _ => false,
        }
    }

    /// The key of the open value in this object.
    fn key_of(&self, frame: &Frame) -> &'a [u8] {
        &self.bytes[frame.key.0..frame.key.1]
    }

    fn scalar(&mut self) {
        let rest = &self.bytes[self.at..];
        let is_end =
            |b: &u8| *b <= b' ' || matches!(b, b',' | b':' | b'{' | b'}' | b'[' | b']' | b'"');
        let length = rest.iter().position(is_end).unwrap_or(rest.len()).max(1);
        let word = &rest[..length];
        self.at += length;
        if self.is_direction(word) {
            self.text.extend_from_slice(word.strip_suffix(b".0").unwrap_or(word));
        } else {
            self.value();
        }
    }

    /// Writes a value.
    fn value(&mut self) {
        if self.lost > 0 {
            return;
        }
        self.begin_item();
        if self.text.last() != Some(&b'?') {
            self.text.push(b'?');
        }
        self.end_item(true);
    }

    fn open(&mut self, bracket: u8) {
        self.at += 1;
        if self.lost > 0 || self.frames.len() >= DEPTH_MAX {
            if self.lost == 0 {
                self.value();
            }
            self.lost += 1;
            return;
        }
        self.begin_item();
        let begin = self.text.len();
        self.text.push(bracket);
        self.frames.push(Frame {
            is_array: bracket == b'[',
            begin,
            item: begin + 1,
            before: None,
            count: 0,
            is_flat: true,
            key: (0, 0),
            is_dropped: false,
        });
    }

    fn close(&mut self, bracket: u8) {
        self.at = (self.at + 1).min(self.bytes.len());
        if self.lost > 0 {
            self.lost -= 1;
            return;
        }
        self.drop_member();
        let Some(frame) = self.frames.pop() else { return };
        let key = &self.bytes[frame.key.0..frame.key.1];
        let is_value = match frame.is_array {
            true => false,
            false => frame.count == 1 && TYPES.contains(&key),
        };
        if is_value {
            self.text.truncate(frame.begin);
            self.text.push(b'?');
        } else {
            if frame.is_array && frame.is_flat && frame.count > 0 {
                self.text.truncate(frame.begin);
                self.text.extend_from_slice(b"[?+");
            }
            let _ = bracket;
            self.text.push(if frame.is_array { b']' } else { b'}' });
        }
        self.end_item(is_value);
    }

    /// Before a value: writes the comma of an array.
    fn begin_item(&mut self) {
        let length = self.text.len();
        if let Some(frame) = self.frames.last_mut()
            && frame.is_array
        {
            frame.item = length;
            if frame.count > 0 {
                self.text.push(b',');
            }
            frame.count += 1;
        }
    }

    /// After a value: removes it if it equals the previous item of the array.
    fn end_item(&mut self, is_value: bool) {
        let end = self.text.len();
        let Some(frame) = self.frames.last_mut() else { return };
        if !frame.is_array {
            return;
        }
        frame.is_flat &= is_value;
        let begin = frame.item + usize::from(frame.before.is_some());
        match frame.before {
            Some((from, to)) if self.text[from..to] == self.text[begin..end] => {
                self.text.truncate(frame.item);
            }
            _ => frame.before = Some((begin, end)),
        }
    }

    fn quoted(&mut self, name: &[u8]) {
        self.text.push(b'"');
        let printable = |b: &u8| if *b < b' ' || *b == 0x7f { b' ' } else { *b };
        self.text.extend(name.iter().map(printable));
        self.text.push(b'"');
    }
}

#[cfg(test)]
mod tests;
