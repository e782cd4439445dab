//! The keywords that change how what follows is written.

/// A keyword, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Keyword {
    /// A name, or a keyword that changes nothing.
    None,
    /// An operand follows: a sign there belongs to it, a bracket is no call's.
    Operand,
    Select,
    Union,
    In,
    Values,
    Value,
    Array,
    Field,
    Row,
    Limit,
    Offset,
    /// What may follow the last select of a union and belongs to all. So for the next two.
    Tail,
    Order,
    Fetch,
    /// `ASC`.
    Ascending,
    Constant,
    Default,
    /// `IS`, `NOT`: NULL behind them is no value.
    Is,
    Call,
    Use,
    /// Statements that define: NULL is no value in them.
    Define,
    Insert,
    Into,
    /// Words that names of savepoints, cursors or prepared statements follow.
    Object,
}

impl Keyword {
    /// Whether an operand follows.
    #[inline]
    pub(super) fn expects_operand(self) -> bool {
        use Keyword::*;
        matches!(
            self,
            Operand | Select | Union | Limit | Offset | Tail | Order | Fetch | Is | In | Values
        )
    }

    /// Of the word in lower case that the first `length` of these bytes are; eight or more bytes.
    #[inline]
    pub(super) fn of_prefix(bytes: &[u8], length: usize) -> Self {
        match bytes.first_chunk::<8>() {
            Some(eight) if (2..=8).contains(&length) => {
                Self::of_packed(u64::from_le_bytes(*eight) & u64::MAX >> (64 - 8 * length))
            }
            _ => match &bytes[..length] {
                b"intersect" => Keyword::Union,
                b"returning" => Keyword::Operand,
                b"savepoint" | b"deallocate" => Keyword::Object,
                _ => Keyword::None,
            },
        }
    }

    /// Of a word of at most eight letters in lower case, the first in the lowest byte.
    #[inline]
    pub(super) fn of_packed(packed: u64) -> Self {
        let mut slot = slot(packed);
        loop {
            let (key, keyword) = TABLE[slot];
            if key == packed || key == 0 {
                return keyword;
            }
            slot = (slot + 1) % SLOTS;
        }
    }
}

const SLOTS: usize = 512;

const fn slot(packed: u64) -> usize {
    (packed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 55) as usize
}

static TABLE: [(u64, Keyword); SLOTS] = {
    let mut table = [(0, Keyword::None); SLOTS];
    let mut list = 0;
    while list < WORDS.len() {
        let (keyword, words) = WORDS[list];
        let mut at = 0;
        while at < words.len() {
            let word = words[at].as_bytes();
            let mut packed = 0;
            let mut letter = word.len();
            while letter > 0 {
                letter -= 1;
                packed = packed << 8 | word[letter] as u64;
            }
            let mut free = slot(packed);
            while table[free].0 != 0 {
                assert!(table[free].0 != packed, "a keyword stands twice");
                free = (free + 1) % SLOTS;
            }
            table[free] = (packed, keyword);
            at += 1;
        }
        list += 1;
    }
    table
};

const WORDS: &[(Keyword, &[&str])] = &[
    (
        Keyword::Operand,
        &[
            "where", "and", "or", "xor", "on", "as", "all", "distinct", "exists", "using", "by",
            "having", "when", "then", "else", "case", "set", "over", "with", "like", "ilike",
            "rlike", "regexp", "between", "div", "mod", "return", "to", "similar", "escape",
            "from", "join", "interval", "lateral", "explain", "top", "only",
        ],
    ),
    (Keyword::Select, &["select"]),
    (Keyword::Union, &["union", "except", "minus"]),
    (Keyword::In, &["in"]),
    (Keyword::Values, &["values"]),
    (Keyword::Value, &["value"]),
    (Keyword::Array, &["array"]),
    (Keyword::Field, &["field"]),
    (Keyword::Row, &["row"]),
    (Keyword::Limit, &["limit"]),
    (Keyword::Offset, &["offset"]),
    (Keyword::Tail, &["for"]),
    (Keyword::Order, &["order"]),
    (Keyword::Fetch, &["fetch"]),
    (Keyword::Ascending, &["asc"]),
    (Keyword::Constant, &["null", "true", "false"]),
    (Keyword::Default, &["default"]),
    (Keyword::Is, &["is", "not"]),
    (Keyword::Call, &["call", "execute"]),
    (Keyword::Use, &["use"]),
    (Keyword::Define, &["create", "alter"]),
    (Keyword::Insert, &["insert", "replace"]),
    (Keyword::Into, &["into"]),
    (
        Keyword::Object,
        &["rollback", "release", "declare", "close", "move", "prepare", "drop", "current"],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn of(word: &str) -> Keyword {
        Keyword::of_prefix(format!("{word}=behind it").as_bytes(), word.len())
    }

    #[test]
    fn every_keyword_is_found_and_names_are_not() {
        for (keyword, words) in WORDS {
            for word in *words {
                assert_eq!(of(word), *keyword, "{word}");
            }
        }
        for word in ["", "a", "ins", "selects", "orders", "customer", "intersection", "returning_"]
        {
            assert_eq!(of(word), Keyword::None, "{word}");
        }
        assert_eq!(of("intersect"), Keyword::Union);
    }
}
