//! Keywords that affect the normal form of the tokens after them.

/// A keyword, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    /// A name, or a keyword without effect.
    None,
    /// An operand follows: a sign belongs to it, and a bracket does not begin the arguments of a call.
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
    /// May follow the last select of a union and applies to the whole union, like `Order` and `Fetch`.
    Tail,
    Order,
    Fetch,
    /// `ASC`.
    Ascending,
    Constant,
    Default,
    /// `IS`, `NOT`: NULL after them is not a value.
    Is,
    Call,
    Use,
    /// Statements that define tables: NULL is not a value in them.
    Define,
    Insert,
    Into,
    /// Words that precede names of savepoints, cursors or prepared statements.
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

    /// The keyword of a word in lower case.
    #[inline]
    pub(super) fn of(word: &[u8]) -> Self {
        match word {
            b"where" | b"and" | b"or" | b"xor" | b"on" | b"as" | b"all" | b"distinct"
            | b"exists" | b"using" | b"by" | b"having" | b"when" | b"then" | b"else" | b"case"
            | b"set" | b"over" | b"with" | b"like" | b"ilike" | b"rlike" | b"regexp"
            | b"between" | b"div" | b"mod" | b"return" | b"to" | b"similar" | b"escape"
            | b"from" | b"join" | b"interval" | b"lateral" | b"explain" | b"top" | b"only"
            | b"returning" => Keyword::Operand,
            b"select" => Keyword::Select,
            b"union" | b"except" | b"minus" | b"intersect" => Keyword::Union,
            b"in" => Keyword::In,
            b"values" => Keyword::Values,
            b"value" => Keyword::Value,
            b"array" => Keyword::Array,
            b"field" => Keyword::Field,
            b"row" => Keyword::Row,
            b"limit" => Keyword::Limit,
            b"offset" => Keyword::Offset,
            b"for" => Keyword::Tail,
            b"order" => Keyword::Order,
            b"fetch" => Keyword::Fetch,
            b"asc" => Keyword::Ascending,
            b"null" | b"true" | b"false" => Keyword::Constant,
            b"default" => Keyword::Default,
            b"is" | b"not" => Keyword::Is,
            b"call" | b"execute" => Keyword::Call,
            b"use" => Keyword::Use,
            b"create" | b"alter" => Keyword::Define,
            b"insert" | b"replace" => Keyword::Insert,
            b"into" => Keyword::Into,
            b"rollback" | b"release" | b"declare" | b"close" | b"move" | b"prepare" | b"drop"
            | b"current" | b"savepoint" | b"deallocate" => Keyword::Object,
            _ => Keyword::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_whole_words() {
        for word in ["", "a", "ins", "selects", "orders", "customer", "intersection", "returning_"]
        {
            assert_eq!(Keyword::of(word.as_bytes()), Keyword::None, "{word}");
        }
        assert_eq!(Keyword::of(b"intersect"), Keyword::Union);
    }
}
