//! The normal form of a statement, written token by token.
//!
//! The output buffer is reused for all statements. A repetition (row, item of a list, select of a union)
//! is written, compared with the previous text, and removed if equal.

mod objects;
mod unions;

use super::keywords::Keyword;
use crate::sql::language::Language;
use crate::sql::token::{Kind, Lexer, Token};

/// Maximum length of a normal form, bytes; the rest of the statement is ignored.
const TEXT_MAX: usize = 256 * 1024;
/// Maximum length of a name, bytes; longer words become `?`. Servers accept 64 characters.
const NAME_BYTES_MAX: usize = 256;
/// Maximum nesting of brackets that have a [`Frame`]; deeper ones are not searched for repetitions.
const DEPTH_MAX: usize = 200;
/// Maximum number of bytes that one step writes in addition to the token.
const SLACK: usize = 64;
/// Maximum number of different rows kept of one VALUES.
const ROWS_MAX: usize = 4;

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

/// The kind of a bracket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Bracket {
    #[default]
    Plain,
    /// A list: repeated items are written once.
    Items,
    /// A row of VALUES.
    Row,
}

/// State of an open bracket; the first frame is the statement itself.
#[derive(Debug, Clone, Copy, Default)]
struct Frame {
    kind: Bracket,
    /// Where its text begins, including the bracket.
    begin: usize,
    /// Where the current item and the previous item begin.
    item: usize,
    item_before: usize,
    /// Where the current select begins; `NOWHERE` before the first.
    select: usize,
    /// The last bracket within this one that contains a query.
    query: (usize, usize),
    /// The select before the last UNION, if any.
    arm: Option<(usize, usize)>,
    /// Where the UNION operator after it begins.
    union: usize,
    /// Whether this bracket contains a query.
    is_query: bool,
    /// Whether ORDER BY has been read in this bracket.
    is_ordered: bool,
    /// Rows of the current VALUES.
    rows: [(usize, usize); ROWS_MAX],
    rows_count: usize,
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

    /// Makes room for a token and the text around it.
    #[inline]
    fn reserve(&mut self, token: usize) {
        let room = self.length + token.min(NAME_BYTES_MAX) + 2 * SLACK;
        if self.text.len() < room {
            self.text.resize(room * 2, 0);
        }
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

    fn open(&mut self, lexer: &mut Lexer<'_>, bracket: u8) {
        let (in_rows, last, before) = (self.in_rows, self.last, self.before);
        let is_list = before == Before::List && (bracket == b'[') == (last == Keyword::Array);
        let is_row = bracket == b'(' && in_rows;
        if matches!(self.verb, Keyword::Call) && self.frames.len() == 1 && before == Before::Operand
        {
            return skip_group(lexer);
        }
        let begin = self.length;
        if bracket == b'(' && !matches!(before, Before::Operand | Before::List) {
            self.space();
        }
        let at = self.length;
        if (is_list || is_row) && lexer.skip_literals() {
            self.write(if bracket == b'(' { b"(?+)" } else { b"[?+]" });
            self.after(Before::Operand);
            if is_row {
                self.end_row(begin);
            }
            return;
        }
        self.write(&[bracket]);
        self.after(Before::Open);
        self.is_glued = true;
        if self.frames.len() > DEPTH_MAX {
            self.unframed += 1;
            return;
        }
        let kind = match (is_row, is_list) {
            (true, _) => Bracket::Row,
            (_, true) => Bracket::Items,
            _ => Bracket::Plain,
        };
        self.frames.push(Frame {
            kind,
            begin: if is_row { begin } else { at },
            item: self.length,
            item_before: NOWHERE,
            select: NOWHERE,
            ..Frame::default()
        });
    }

    fn close(&mut self, bracket: u8) {
        if self.unframed > 0 {
            self.unframed -= 1;
            return self.tight(&[bracket], Before::Operand);
        }
        self.end_item();
        self.end_arm();
        if self.frames.len() == 1 {
            return self.tight(&[bracket], Before::Operand);
        }
        let frame = self.frames.pop().unwrap_or_default();
        self.tight(&[bracket], Before::Operand);
        let end = self.length;
        let outer = self.frame();
        if frame.is_query {
            outer.query = (frame.begin, end);
            outer.is_query |= frame.begin == outer.item && outer.begin < outer.item;
        }
        if frame.kind == Bracket::Row {
            self.end_row(frame.begin);
        }
    }

    /// After a row of VALUES that begins at `begin`: removes it if an equal one is known.
    fn end_row(&mut self, begin: usize) {
        let end = self.length;
        let Self { text, frames, .. } = self;
        let Some(frame) = frames.last_mut() else { return };
        let (rows, count) = (&mut frame.rows, &mut frame.rows_count);
        let row = &text[begin..end];
        let first = if text[begin] == b' ' { 1 } else { 0 };
        let is_known = rows[..*count].iter().any(|&(from, to)| text[from..to] == row[first..]);
        if *count > 0 && (is_known || *count == ROWS_MAX) {
            self.length = rows[*count - 1].1;
        } else {
            rows[*count] = (begin + first, end);
            *count += 1;
        }
        self.in_rows = true;
    }

    #[inline]
    fn comma(&mut self) {
        let in_rows = self.in_rows && self.before == Before::Operand;
        let limit = self.limit;
        if limit.0 == 1 && self.before == Before::Literal {
            self.spaced(b"offset", Before::Keyword);
            return;
        }
        if self.frame().kind == Bracket::Items && self.unframed == 0 {
            self.end_item();
            let at = self.length;
            let frame = self.frame();
            if frame.item < at {
                frame.item_before = frame.item;
            }
            frame.item = at + ", ".len();
        }
        self.tight(b",", Before::Comma);
        self.in_rows = in_rows;
    }

    /// After an item of a list: removes it and its comma if it equals the previous item.
    fn end_item(&mut self) {
        let length = self.length;
        let Self { text, frames, .. } = self;
        let Some(frame) = frames.last_mut() else { return };
        if frame.kind != Bracket::Items || frame.item_before == NOWHERE || frame.item > length {
            return;
        }
        let before_end = frame.item - ", ".len();
        if text[frame.item_before..before_end] == text[frame.item..length] {
            self.length = before_end;
            frame.item = frame.item_before;
            frame.item_before = NOWHERE;
        }
    }

    #[inline]
    fn frame(&mut self) -> &mut Frame {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    /// Resets the state that applies to one token only.
    #[inline]
    fn after(&mut self, before: Before) {
        self.before = before;
        self.last = Keyword::None;
        self.is_glued = false;
        self.sign = NOWHERE;
        self.in_rows = false;
        self.limit = (0, 0);
    }

    /// Writes text with a space before it.
    #[inline]
    fn spaced(&mut self, text: &[u8], before: Before) {
        self.space();
        self.write(text);
        self.after(before);
    }

    /// Writes text without a space before it; after a dot no space follows either.
    #[inline]
    fn tight(&mut self, text: &[u8], before: Before) {
        self.semicolon();
        self.write(text);
        self.after(before);
        self.is_glued = before == Before::Dot;
    }

    #[inline]
    fn space(&mut self) {
        self.semicolon();
        if !self.is_glued {
            self.text[self.length] = b' ';
            self.length += 1;
        }
    }

    #[inline]
    fn semicolon(&mut self) {
        if self.semicolon {
            self.semicolon = false;
            self.write(b";");
            self.is_glued = false;
        }
    }

    #[inline]
    fn write(&mut self, text: &[u8]) {
        let text = &text[..text.len().min(NAME_BYTES_MAX)];
        self.text[self.length..self.length + text.len()].copy_from_slice(text);
        self.length += text.len();
    }

    /// Writes a word in lower case.
    #[inline]
    fn fold(&mut self, word: &[u8]) {
        let to = &mut self.text[self.length..self.length + word.len()];
        for (to, from) in to.iter_mut().zip(word) {
            *to = from.to_ascii_lowercase();
        }
        self.length += word.len();
    }
}

/// Skips to the end of an open bracket.
fn skip_group(lexer: &mut Lexer<'_>) {
    let mut depth = 1u64;
    while depth > 0 {
        match lexer.next_token().kind {
            Kind::Open | Kind::OpenBracket => depth += 1,
            Kind::Close | Kind::CloseBracket => depth -= 1,
            Kind::End => return,
            _ => {}
        }
    }
}
