//! Extracts the verb and the tables of a statement: `SELECT orders customers`.
//!
//! The reader works on tokens, without a grammar: a table is a name in a position where FROM, JOIN,
//! INTO, UPDATE, TABLE or a similar keyword expects one. Names of common table expressions and of
//! functions are not tables.

mod verb;

pub use crate::sql::distilled::Distilled;
use crate::sql::language::Language;
use crate::sql::token::{Kind, Lexer, Token};
use verb::Verb;

/// Maximum number of tables per statement; further ones are omitted.
const TABLES_MAX: usize = 64;
/// Maximum nesting of brackets that have a [`Level`].
const DEPTH_MAX: usize = 200;
/// Maximum lookahead for a common table expression, tokens.
const AHEAD_MAX: usize = 200;

/// Extracts the verb and the tables of a statement. The result contains no literals.
pub fn distill(statement: &[u8], language: Language) -> Distilled {
    if language == Language::Mongo {
        return crate::sql::mongo::distill(statement);
    }
    if let Some(command) = crate::sql::administrator_command::administrator_command(statement) {
        return Distilled { verb: format!("ADMIN {}", command.to_uppercase()), tables: Vec::new() };
    }
    let mut reader = Reader {
        lexer: Lexer::new(statement, language),
        language,
        verb: Verb::default(),
        tables: Vec::new(),
        expressions: Vec::new(),
        levels: vec![Level::default()],
        beyond: 0,
        expected: Expected::Nothing,
        options: 0,
        word_before: Vec::new(),
    };
    reader.read();
    Distilled { verb: reader.verb.text(), tables: reader.tables }
}

/// The kinds of names allowed next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Nothing,
    /// A table, a table function, or a subquery.
    Source,
    /// A table, even if a bracket follows.
    Table,
}

/// State within one bracket.
#[derive(Debug, Clone, Copy, Default)]
struct Level {
    /// The bracket contains a query: FROM names tables.
    is_query: bool,
    /// A table follows each comma.
    in_tables: bool,
    /// Another common table expression follows each comma.
    in_with: bool,
    /// The data-modifying statement of a common table expression.
    write: Write,
}

/// A data-modifying statement within another statement (PostgreSQL).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Write {
    #[default]
    Nothing,
    Insert,
    Update,
    Delete,
    Merge,
}

impl Write {
    fn of(word: &[u8]) -> Self {
        match word {
            b"insert" => Self::Insert,
            b"update" => Self::Update,
            b"delete" => Self::Delete,
            b"merge" => Self::Merge,
            _ => Self::Nothing,
        }
    }
}

struct Reader<'a> {
    lexer: Lexer<'a>,
    language: Language,
    verb: Verb,
    tables: Vec<String>,
    /// Names of common table expressions.
    expressions: Vec<String>,
    levels: Vec<Level>,
    beyond: usize,
    expected: Expected,
    /// Depth of the open bracket of options; 0 if none is open.
    options: usize,
    word_before: Vec<u8>,
}

impl Reader<'_> {
    fn read(&mut self) {
        loop {
            let token = self.lexer.next_token();
            match token.kind {
                Kind::End => return,
                Kind::Word | Kind::Name => self.word(token),
                Kind::Open => self.open(),
                Kind::Close => self.close(),
                Kind::Comma => self.comma(),
                Kind::HintBegin => self.skip_hint(),
                // Several statements in one text count as one, with the verb of the first.
                Kind::Semicolon => (self.levels, self.options) = (vec![Level::default()], 0),
                _ => self.expected = Expected::Nothing,
            }
            if !matches!(token.kind, Kind::Word | Kind::HintBegin) {
                self.word_before.clear();
            }
        }
    }

    fn level(&mut self) -> &mut Level {
        let last = self.levels.len() - 1;
        &mut self.levels[last]
    }

    fn is_outermost(&self) -> bool {
        self.levels.len() == 1 && self.beyond == 0
    }

    fn word(&mut self, token: Token) {
        let text = self.lexer.text(token);
        let word = match token.kind {
            Kind::Word if text.len() <= 64 => text.to_ascii_lowercase(),
            _ => Vec::new(),
        };
        if self.is_outermost() && self.verb.explains(&word) {
            self.expected = Expected::Nothing;
        } else if self.is_outermost() && self.verb.describes(&word, self.language) {
            self.expected = Expected::Table;
        }
        if self.expected != Expected::Nothing && !is_before_table(&word) {
            return self.source(token);
        }
        if self.is_outermost() {
            self.verb.word(&word);
        }
        self.keyword(&word);
        self.word_before = word;
    }

    fn keyword(&mut self, word: &[u8]) {
        let is_outermost = self.is_outermost();
        match word {
            b"with" => self.expression(),
            b"select" => {
                self.verb.query(is_outermost);
                *self.level() = Level { is_query: true, ..Level::default() };
            }
            b"union" => self.verb.union(),
            b"delete" => self.level().is_query = true,
            b"from" | b"in" if is_outermost && self.verb.is(b"show") => self.shown(),
            b"from" if self.word_before == b"distinct" => {}
            b"from" if self.level().is_query || self.writes(b"update") => {
                self.expect(Expected::Source)
            }
            b"join" => self.expect(Expected::Source),
            // Directly after SELECT it is an option.
            b"straight_join" if self.level().in_tables => self.expect(Expected::Source),
            b"using" if self.writes(b"merge") => self.expect(Expected::Source),
            b"using" if self.writes(b"delete") && self.lexer.peek().kind != Kind::Open => {
                self.expect(Expected::Source);
            }
            b"into"
                if is_outermost && self.verb.writes_into(self.language)
                    || self.level().write != Write::Nothing =>
            {
                self.expected = Expected::Table
            }
            b"insert" | b"replace" if is_outermost && self.verb.is(word) => {
                self.expected = Expected::Table
            }
            b"update" if self.writes(b"update") => self.expect(Expected::Table),
            b"call" if is_outermost && self.verb.is(word) => self.routine(),
            b"where" | b"set" | b"group" | b"order" | b"having" | b"limit" | b"values"
            | b"window" => {
                self.level().in_tables = false;
            }
            _ if is_outermost && self.verb.expects_table(word) => self.expect(Expected::Table),
            _ => {}
        }
    }

    /// Whether the statement of this level has the verb `word`.
    fn writes(&self, word: &[u8]) -> bool {
        let write = self.levels[self.levels.len() - 1].write;
        write != Write::Nothing && write == Write::of(word)
            || self.verb.is(word) && self.is_outermost()
    }

    /// Skips a hint: the statement names the same tables.
    fn skip_hint(&mut self) {
        while !matches!(self.lexer.next_token().kind, Kind::HintEnd | Kind::End) {}
    }

    /// After FROM or IN of `SHOW COLUMNS FROM t FROM db`. FROM of `SHOW TABLES FROM db` names no table.
    fn shown(&mut self) {
        if !self.verb.shows_one_table() {
            return;
        }
        let token = self.lexer.peek();
        if !matches!(token.kind, Kind::Word | Kind::Name) {
            return;
        }
        self.lexer.next_token();
        let Some((name, _)) = self.qualified(token) else { return };
        match self.tables.first_mut() {
            None => self.tables.push(name),
            Some(table) if !table.contains('.') => *table = format!("{name}.{table}"),
            Some(_) => {}
        }
    }

    /// After CALL: reads the name of the routine, with its schema.
    fn routine(&mut self) {
        let token = self.lexer.peek();
        if matches!(token.kind, Kind::Word | Kind::Name) {
            self.lexer.next_token();
            if let Some((name, _)) = self.qualified(token) {
                self.verb.named(name);
            }
        }
    }

    fn expect(&mut self, expected: Expected) {
        self.expected = expected;
        self.level().in_tables = true;
    }

    /// Records a table, unless the name is that of a function, a CTE, a variable or a file.
    fn source(&mut self, first: Token) {
        let expected = std::mem::replace(&mut self.expected, Expected::Nothing);
        self.word_before.clear();
        let Some((name, is_qualified)) = self.qualified(first) else { return };
        let is_function = expected == Expected::Source && self.lexer.peek().kind == Kind::Open;
        let is_expression = !is_qualified && self.expressions.contains(&name);
        let is_dual = self.language == Language::Mysql
            && expected == Expected::Source
            && first.kind == Kind::Word
            && name == "dual";
        let is_variable = name.starts_with('@') || name == "outfile" || name == "dumpfile";
        if is_function || is_expression || is_variable || is_dual || self.tables.contains(&name) {
            return;
        }
        if self.tables.len() < TABLES_MAX {
            self.tables.push(name);
        }
    }

    /// Reads a name with all its parts; true if it has several. `None` if no name follows a dot.
    fn qualified(&mut self, first: Token) -> Option<(String, bool)> {
        let mut name = String::new();
        self.push_name(&mut name, first);
        let mut is_qualified = false;
        while self.lexer.peek().kind == Kind::Dot {
            self.lexer.next_token();
            let part = self.lexer.peek();
            if !matches!(part.kind, Kind::Word | Kind::Name) {
                return None;
            }
            self.lexer.next_token();
            name.push('.');
            self.push_name(&mut name, part);
            is_qualified = true;
        }
        Some((name, is_qualified))
    }

    /// Appends a name without its quotes; an unquoted name in lower case.
    fn push_name(&self, name: &mut String, token: Token) {
        let text = self.lexer.text(token);
        let text = &text[..text.len().min(256)];
        let text = String::from_utf8_lossy(text);
        match token.kind {
            Kind::Name => {
                let quote = text.chars().last().unwrap_or('"');
                let inside = text.trim_start_matches(['U', 'u', '&']).trim_matches(quote);
                let inside = inside.replace(
                    [quote, quote].iter().collect::<String>().as_str(),
                    &quote.to_string(),
                );
                name.extend(inside.chars().map(|c| if c.is_control() { ' ' } else { c }));
            }
            _ => name.push_str(&text.to_ascii_lowercase()),
        }
    }

    fn open(&mut self) {
        let expected = std::mem::replace(&mut self.expected, Expected::Nothing);
        let is_list = matches!(self.word_before.as_slice(), b"in" | b"values");
        if is_list && self.lexer.skip_literals() {
            return;
        }
        if self.levels.len() > DEPTH_MAX {
            self.beyond += 1;
            return;
        }
        let in_with = self.level().in_with;
        self.levels.push(Level::default());
        if in_with && matches!(self.word_before.as_slice(), b"as" | b"materialized") {
            self.write_within();
        }
        // `VACUUM (ANALYZE) t`: the bracket contains options.
        if expected == Expected::Table && self.verb.has_options() {
            self.options = self.levels.len();
        }
        if expected == Expected::Source {
            self.expect(Expected::Source);
            let next = self.lexer.peek();
            let word = self.lexer.text(next).to_ascii_lowercase();
            if matches!(word.as_slice(), b"select" | b"with" | b"values" | b"table") {
                self.expected = Expected::Nothing;
                self.level().in_tables = false;
            }
        }
    }

    /// After the opening bracket of a common table expression: whether its statement modifies data.
    fn write_within(&mut self) {
        let next = self.lexer.peek();
        let word = self.lexer.text(next);
        let word = word[..word.len().min(8)].to_ascii_lowercase();
        self.level().write = Write::of(&word);
        if self.level().write != Write::Nothing {
            self.verb.within(word);
        }
    }

    fn close(&mut self) {
        let ends_options = self.options == self.levels.len();
        self.expected = Expected::Nothing;
        if ends_options {
            self.options = 0;
            self.levels.pop();
            return self.expect(Expected::Table);
        }
        if self.beyond > 0 {
            self.beyond -= 1;
        } else if self.levels.len() > 1 {
            self.levels.pop();
        }
    }

    fn comma(&mut self) {
        if self.beyond > 0 {
            return;
        }
        let level = *self.level();
        if level.in_with {
            self.expression();
        } else if level.in_tables {
            self.expected = match self.verb.is(b"update") || self.verb.expects_table(b"table") {
                true => Expected::Table,
                false => Expected::Source,
            };
        }
    }

    /// After WITH: records the name of a common table expression, `name [(columns)] AS (`.
    fn expression(&mut self) {
        let mut ahead = self.lexer.clone();
        let mut token = ahead.next_token();
        if ahead.text(token).eq_ignore_ascii_case(b"recursive") {
            token = ahead.next_token();
        }
        if !matches!(token.kind, Kind::Word | Kind::Name) {
            return;
        }
        let mut name = String::new();
        self.push_name(&mut name, token);
        let mut depth = 0;
        for _ in 0..AHEAD_MAX {
            let token = ahead.next_token();
            match token.kind {
                Kind::Open => depth += 1,
                Kind::Close => depth -= 1,
                Kind::Word if depth == 0 => {
                    if ahead.text(token).eq_ignore_ascii_case(b"as") {
                        self.expressions.push(name);
                        self.level().in_with = true;
                    }
                    return;
                }
                Kind::End => return,
                _ => {}
            }
        }
    }
}

/// Words allowed between a keyword that expects a table and the table.
fn is_before_table(word: &[u8]) -> bool {
    matches!(
        word,
        b"only"
            | b"lateral"
            | b"ignore"
            | b"low_priority"
            | b"delayed"
            | b"high_priority"
            | b"quick"
            | b"if"
            | b"not"
            | b"exists"
            | b"table"
            | b"tables"
            | b"into"
            | b"concurrently"
            | b"verbose"
            | b"local"
            | b"no_write_to_binlog"
            | b"overwrite"
            | b"analyze"
            | b"full"
            | b"freeze"
            | b"materialized"
            | b"view"
            | b"select"
    )
}

#[cfg(test)]
mod tests;
