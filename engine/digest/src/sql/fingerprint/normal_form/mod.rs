//! The normal form of a statement, written token by token.
//!
//! The output buffer is reused for all statements. A repetition (row, item of a list, select of a union)
//! is written, compared with the previous text, and removed if equal.

mod brackets;
mod lists;
mod objects;
mod output;
mod unions;

use super::keywords::Keyword;
use crate::sql::language::Language;
use crate::sql::token::{Kind, Lexer, Token};
use brackets::{Bracket, DEPTH_MAX, Frame};

/// Maximum length of a normal form, bytes; the rest of the statement is ignored.
const TEXT_MAX: usize = 256 * 1024;
/// Maximum length of a name, bytes; longer words become `?`. Servers accept 64 characters.
const NAME_BYTES_MAX: usize = 256;
/// Maximum number of bytes that one step writes in addition to the token.
const SLACK: usize = 64;
const NOWHERE: usize = usize::MAX;

/// The kind of the previous token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    /// A name, a keyword in the role of a name, a closing bracket.
    Operand,
    Literal,
    /// A keyword that an operand follows.
    Keyword,
    /// `in`, `values`, `array`: a list follows.
    List,
    Operator,
    Open,
    Comma,
    Dot,
}

#[derive(Debug)]
pub(super) struct Normaliser {
    language: Language,
    text: Vec<u8>,
    length: usize,
    frames: Vec<Frame>,
    /// Number of open brackets without a frame.
    unframed: usize,
    before: Before,
    /// The next token follows without a space.
    is_glued: bool,
    /// The keyword that was just written.
    last: Keyword,
    /// The first word, if it is a keyword.
    verb: Keyword,
    /// Where the first of the signs just written begins, if they belong to an operand.
    sign: usize,
    /// Rows follow: after VALUES, and after the comma that follows a row.
    in_rows: bool,
    /// `limit ?` (1) or `offset ?` (2) was just written; it begins at the second value.
    limit: (u8, usize),
    semicolon: bool,
    /// Whether the last statement has readings with ASCII trail bytes.
    has_pairs: bool,
}

impl Normaliser {
    pub(super) fn new(language: Language) -> Self {
        Self {
            language,
            text: Vec::new(),
            length: 0,
            frames: Vec::with_capacity(DEPTH_MAX + 1),
            unframed: 0,
            before: Before::Nothing,
            is_glued: true,
            last: Keyword::None,
            verb: Keyword::None,
            sign: NOWHERE,
            in_rows: false,
            limit: (0, 0),
            semicolon: false,
            has_pairs: false,
        }
    }

    /// Whether the last statement has readings with ASCII trail bytes.
    pub(super) fn has_pairs(&self) -> bool {
        self.has_pairs
    }

    /// The normal form of a statement, valid until the next one.
    #[inline]
    pub(super) fn normalise(&mut self, statement: &[u8]) -> &[u8] {
        self.begin(statement.len());
        let mut lexer = Lexer::new(statement, self.language);
        while self.length < TEXT_MAX {
            let token = lexer.next_token();
            if token.kind == Kind::End {
                break;
            }
            self.reserve(token.end - token.begin);
            self.token(&mut lexer, token);
        }
        self.has_pairs = lexer.has_pairs();
        self.end_item();
        self.end_arm();
        &self.text[..self.length]
    }

    fn begin(&mut self, length: usize) {
        let room = (length * 2).min(TEXT_MAX) + NAME_BYTES_MAX + 2 * SLACK;
        if self.text.len() < room {
            self.text.resize(room, 0);
        }
        self.length = 0;
        self.frames.clear();
        self.frames.push(Frame { select: NOWHERE, item_before: NOWHERE, ..Frame::default() });
        self.unframed = 0;
        self.before = Before::Nothing;
        self.is_glued = true;
        self.last = Keyword::None;
        self.verb = Keyword::None;
        self.sign = NOWHERE;
        self.in_rows = false;
        self.limit = (0, 0);
        self.semicolon = false;
    }

    #[inline]
    fn token(&mut self, lexer: &mut Lexer<'_>, token: Token) {
        match token.kind {
            Kind::Word => self.word(lexer, token),
            Kind::Name => self.name(lexer.text(token)),
            Kind::Literal | Kind::Parameter | Kind::CutName => self.literal(),
            Kind::Question if self.is_operator_here() => self.operator(b"?"),
            Kind::Question => self.literal(),
            Kind::Operator => self.operator(lexer.text(token)),
            Kind::Open => self.open(lexer, b'('),
            Kind::OpenBracket => self.open(lexer, b'['),
            Kind::Close => self.close(b')'),
            Kind::CloseBracket => self.close(b']'),
            Kind::Comma => self.comma(),
            Kind::Dot => self.tight(b".", Before::Dot),
            Kind::Semicolon => {
                self.end_item();
                self.end_arm();
                self.semicolon = self.length > 0;
                self.frame().is_ordered = false;
            }
            Kind::HintBegin => self.spaced(b"/*+", Before::Nothing),
            Kind::HintEnd => self.spaced(b"*/", Before::Keyword),
            Kind::End => {}
        }
    }

    /// Whether `?` is PostgreSQL's operator on JSON.
    fn is_operator_here(&self) -> bool {
        self.language == Language::Postgres
            && matches!(self.before, Before::Operand | Before::Literal)
    }

    #[inline]
    fn word(&mut self, lexer: &mut Lexer<'_>, token: Token) {
        let word = lexer.text(token);
        if word.len() > NAME_BYTES_MAX {
            return self.literal();
        }
        let is_glued = self.is_glued;
        let begin = self.length;
        self.space();
        let at = self.length;
        self.fold(word);
        let keyword = match self.before {
            Before::Dot => Keyword::None,
            _ if self.last == Keyword::Use && self.verb == Keyword::Use => {
                self.length = begin;
                self.is_glued = is_glued;
                return self.literal();
            }
            _ => Keyword::of(&self.text[at..self.length]),
        };
        if keyword == Keyword::None {
            self.after(Before::Operand);
            return;
        }
        self.keyword(lexer, keyword, begin, is_glued);
    }

    /// Applies the effect of a keyword that was written at `begin`.
    fn keyword(&mut self, lexer: &mut Lexer<'_>, keyword: Keyword, begin: usize, is_glued: bool) {
        let mut before = match keyword.expects_operand() {
            true => Before::Keyword,
            false => Before::Operand,
        };
        let (in_rows, last) = (self.in_rows, self.last);
        let depth = self.frames.len() - 1 + self.unframed;
        match keyword {
            Keyword::Constant
                if last != Keyword::Is && self.verb != Keyword::Define
                    || keyword == Keyword::Default && self.frame().kind == Bracket::Row =>
            {
                self.length = begin;
                self.is_glued = is_glued;
                return self.literal();
            }
            Keyword::Row if in_rows => {
                self.length = begin;
                self.is_glued = is_glued;
                return;
            }
            // ASC is the default.
            Keyword::Ascending
                if self.frame().is_ordered
                    && matches!(self.before, Before::Operand | Before::Literal) =>
            {
                self.length = begin;
                self.is_glued = is_glued;
                return;
            }
            Keyword::Select => {
                let at = self.length - "select".len();
                let frame = self.frame();
                frame.select = at;
                frame.is_query = true;
                frame.is_ordered = false;
                if frame.kind == Bracket::Items {
                    frame.kind = Bracket::Plain;
                }
            }
            Keyword::Union => self.union(begin),
            Keyword::In | Keyword::Values | Keyword::Array | Keyword::Field => {
                before = Before::List
            }
            Keyword::Value
                if depth == 0
                    && self.verb == Keyword::Insert
                    && last != Keyword::Into
                    && lexer.peek().kind == Kind::Open =>
            {
                self.write(b"s");
                before = Before::List;
            }
            Keyword::Limit | Keyword::Offset | Keyword::Tail | Keyword::Fetch | Keyword::Into => {
                self.end_arm_before(begin);
            }
            Keyword::Order => {
                self.end_arm_before(begin);
                self.frame().is_ordered = true;
            }
            _ => {}
        }
        let limit = self.limit;
        self.after(before);
        self.last = keyword;
        match keyword {
            Keyword::Values => {
                self.in_rows = true;
                self.frame().rows_count = 0;
            }
            Keyword::Value if before == Before::List => {
                self.in_rows = true;
                self.frame().rows_count = 0;
            }
            Keyword::Limit | Keyword::Offset => self.limit = limit,
            _ => {}
        }
        if begin == 0 {
            self.verb = keyword;
        }
        if matches!(keyword, Keyword::Object | Keyword::Fetch | Keyword::Call) {
            self.objects(lexer, begin);
        }
    }

    fn name(&mut self, name: &[u8]) {
        if name.len() > NAME_BYTES_MAX || self.verb == Keyword::Use && self.last == Keyword::Use {
            return self.literal();
        }
        self.space();
        let at = self.length;
        self.write(name);
        for byte in &mut self.text[at..self.length] {
            if *byte < b' ' || *byte == 0x7f {
                *byte = b' ';
            }
        }
        self.after(Before::Operand);
    }

    #[inline]
    fn literal(&mut self) {
        if self.before == Before::Literal {
            return;
        }
        if self.sign != NOWHERE {
            self.length = self.sign;
            self.is_glued = self.length == 0 || matches!(self.text[self.length - 1], b'(' | b'[');
        }
        let (last, before) = (self.last, self.before);
        let limit = self.limit;
        self.space();
        self.write(b"?");
        self.after(Before::Literal);
        if before == Before::Keyword && matches!(last, Keyword::Limit | Keyword::Offset) {
            self.limited(last, limit);
        }
    }

    /// After `limit ?` or `offset ?`: combines it with the other one before it, LIMIT first.
    fn limited(&mut self, last: Keyword, (which, begin): (u8, usize)) {
        if last == Keyword::Offset {
            self.limit = (2, self.length - " offset ?".len().min(self.length));
        } else if which == 2 {
            self.length = begin;
            self.write(b" limit ? offset ?");
        } else {
            self.limit = (1, 0);
        }
    }

    fn operator(&mut self, operator: &[u8]) {
        let is_sign = matches!(operator, b"-" | b"+");
        let takes_operand = !matches!(self.before, Before::Operand | Before::Literal);
        match operator {
            b"::" | b"->" | b"->>" | b"@" | b":" => {
                let is_first = takes_operand && !self.is_glued;
                if is_first {
                    self.space();
                }
                self.tight(operator, Before::Operator);
                self.is_glued = true;
            }
            _ => {
                let sign = match (is_sign && takes_operand, self.sign) {
                    (true, NOWHERE) => self.length,
                    (true, earlier) => earlier,
                    _ => NOWHERE,
                };
                self.spaced(operator, Before::Operator);
                self.sign = sign;
            }
        }
    }
}
