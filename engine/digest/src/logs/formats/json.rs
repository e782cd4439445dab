//! JSON objects of logs, one a line, read without building a tree: members in order, nested values as
//! byte ranges. (RFC 8259; validated as far as is needed to find where values end.)

/// Maximum nesting depth of values; servers write far less.
const DEPTH_MAX: usize = 250;

/// The members of an object, in order: (key as written between its quotes, value).
pub(crate) struct Members<'a> {
    bytes: &'a [u8],
    at: usize,
    is_first: bool,
    /// Whether the closing brace was seen.
    is_closed: bool,
}

/// A member's value, as written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value<'a> {
    /// Between the quotes; see [`unescape`].
    String(&'a [u8]),
    /// A number, `true`, `false` or `null`.
    Word(&'a [u8]),
    /// An object with its braces.
    Object(&'a [u8]),
    /// An array with its brackets.
    Array(&'a [u8]),
}

impl<'a> Members<'a> {
    /// Of the object that `bytes` begins with (after white space).
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        let at = spaces(bytes, 0);
        (bytes.get(at) == Some(&b'{')).then_some(Self {
            bytes,
            at: at + 1,
            is_first: true,
            is_closed: false,
        })
    }

    /// Whether the whole object was read and only white space follows.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_closed && spaces(self.bytes, self.at) == self.bytes.len()
    }

    fn step(&mut self) -> Option<(&'a [u8], Value<'a>)> {
        let bytes = self.bytes;
        let mut at = spaces(bytes, self.at);
        if bytes.get(at)? == &b'}' {
            self.at = at + 1;
            self.is_closed = true;
            return None;
        }
        if !self.is_first {
            if bytes[at] != b',' {
                return None;
            }
            at = spaces(bytes, at + 1);
        }
        self.is_first = false;
        let end = string_end(bytes, at)?;
        let key = &bytes[at + 1..end - 1];
        at = spaces(bytes, end);
        if bytes.get(at) != Some(&b':') {
            return None;
        }
        let begin = spaces(bytes, at + 1);
        let end = value_end(bytes, begin)?;
        self.at = end;
        let raw = &bytes[begin..end];
        let value = match raw[0] {
            b'"' => Value::String(&raw[1..raw.len() - 1]),
            b'{' => Value::Object(raw),
            b'[' => Value::Array(raw),
            _ => Value::Word(raw),
        };
        Some((key, value))
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a [u8], Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_closed { None } else { self.step() }
    }
}

impl<'a> Value<'a> {
    /// The value of member `key` of this object.
    pub(crate) fn member(self, key: &[u8]) -> Option<Value<'a>> {
        self.members()?.find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// The members, if it is an object.
    pub(crate) fn members(self) -> Option<Members<'a>> {
        match self {
            Value::Object(bytes) => Members::new(bytes),
            _ => None,
        }
    }

    /// A whole number, 0 or more; `{"$numberLong":"7"}` too.
    pub(crate) fn number(self) -> Option<u64> {
        match self {
            Value::Word(digits) | Value::String(digits) => {
                // Some counts have a decimal part, which is dropped.
                let whole = digits.split(|&byte| byte == b'.').next()?;
                std::str::from_utf8(whole).ok()?.parse().ok()
            }
            Value::Object(_) => self.member(b"$numberLong")?.number(),
            Value::Array(_) => None,
        }
    }

    /// A string as written between its quotes.
    pub(crate) fn string(self) -> Option<&'a [u8]> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }
}

/// `text` without its escapes, in `buffer` if there are any. Invalid escapes stay unchanged.
pub(crate) fn unescape<'a>(text: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
    let Some(first) = memchr::memchr(b'\\', text) else { return text };
    buffer.clear();
    let (mut begin, mut at) = (0, first);
    loop {
        buffer.extend_from_slice(&text[begin..at]);
        let (used, replaced) = escape(&text[at..]);
        match replaced {
            Some(letter) => buffer.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
            None => buffer.extend_from_slice(&text[at..at + used]),
        }
        begin = at + used;
        match memchr::memchr(b'\\', &text[begin..]) {
            Some(more) => at = begin + more,
            None => break,
        }
    }
    buffer.extend_from_slice(&text[begin..]);
    buffer
}

/// The escape at the start of `text`: its length and its character, if it is valid.
fn escape(text: &[u8]) -> (usize, Option<char>) {
    let simple = |letter| (2, Some(letter));
    match text.get(1) {
        Some(b'n') => simple('\n'),
        Some(b't') => simple('\t'),
        Some(b'r') => simple('\r'),
        Some(b'b') => simple('\u{8}'),
        Some(b'f') => simple('\u{c}'),
        Some(&byte @ (b'"' | b'\\' | b'/')) => simple(char::from(byte)),
        Some(b'u') => match (unit(text), text.get(6..).and_then(unit)) {
            (Some(high @ 0xd800..=0xdbff), Some(low @ 0xdc00..=0xdfff)) => {
                let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                (12, char::from_u32(code))
            }
            (Some(code), _) => (6, char::from_u32(code)),
            (None, _) => (1, None),
        },
        _ => (1, None),
    }
}

/// The code of an escape like `\u0041`.
fn unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn spaces(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// Offset after the closing quote of the string that begins at `at`.
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let mut at = at + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Offset after the value that begins at `at`.
fn value_end(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => string_end(bytes, at),
        b'{' | b'[' => nested_end(bytes, at),
        _ => {
            let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
            let length = bytes[at..].iter().take_while(|byte| is_word(byte)).count();
            (length > 0).then_some(at + length)
        }
    }
}

/// Offset after the object or array that begins at `at`.
fn nested_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0;
    loop {
        match bytes.get(at)? {
            b'"' => {
                at = string_end(bytes, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
        if depth > DEPTH_MAX {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn members_come_in_turn_with_nested_values_whole() {
        let text = br#" {"a": 1, "b":{"c":[1,"]}\""]} ,"d":"x\"y","e":null} "#;
        let mut members = Members::new(text).expect("object");
        let all: Vec<_> = members.by_ref().collect();
        assert!(members.is_whole());
        assert_eq!(all[0], (&b"a"[..], Value::Word(b"1")));
        assert_eq!(all[1].1, Value::Object(br#"{"c":[1,"]}\""]}"#));
        assert_eq!(all[2].1, Value::String(br#"x\"y"#));
        assert_eq!(all[3].1, Value::Word(b"null"));
        let cut = Members::new(&text[..20]).expect("object");
        let mut cut = cut;
        assert!(cut.by_ref().count() <= 1 && !cut.is_whole());
    }

    #[test]
    fn numbers_come_from_words_and_from_long_ones() {
        assert_eq!(Value::Word(b"12").number(), Some(12));
        assert_eq!(Value::Word(b"12.0").number(), Some(12));
        assert_eq!(Value::Word(b"-3").number(), None);
        assert_eq!(Value::Object(br#"{"$numberLong":"9"}"#).number(), Some(9));
    }

    #[test]
    fn lone_surrogates_and_unknown_escapes_stay_as_they_are() {
        let mut buffer = Vec::new();
        assert_eq!(unescape(br"a\n\u00e9\ud83d\ude00", &mut buffer), "a\né😀".as_bytes());
        let mut buffer = Vec::new();
        assert_eq!(unescape(br"\ud800x\q\", &mut buffer), br"\ud800x\q\");
    }

    proptest! {
        #[test]
        fn what_serde_writes_comes_back(text in any::<String>(), number in any::<u32>()) {
            let line = serde_json::json!({"text": text, "n": number, "o": {"x": [text]}}).to_string();
            let mut members = Members::new(line.as_bytes()).expect("object");
            let mut buffer = Vec::new();
            let mut seen = 0;
            for (key, value) in members.by_ref() {
                seen += 1;
                match key {
                    b"text" => prop_assert_eq!(
                        unescape(value.string().expect("string"), &mut buffer), text.as_bytes()),
                    b"n" => prop_assert_eq!(value.number(), Some(u64::from(number))),
                    _ => prop_assert!(matches!(value, Value::Object(_))),
                }
            }
            prop_assert_eq!(seen, 3);
            prop_assert!(members.is_whole());
        }

        #[test]
        fn rubbish_ends(bytes in proptest::collection::vec(
            prop_oneof![Just(b'"'), Just(b'\\'), Just(b'{'), Just(b'['), Just(b':'), Just(b','),
                        Just(b'u'), any::<u8>()], 0..200)) {
            if let Some(members) = Members::new(&bytes) {
                let _ = members.count();
            }
            let _ = unescape(&bytes, &mut Vec::new());
        }
    }
}
