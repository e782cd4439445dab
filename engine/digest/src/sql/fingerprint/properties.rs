//! Tests with statements generated from a grammar. One seed selects the structure, another the style
//! (literals, lengths of lists, case, space, comments). Literals contain marks that no fingerprint may
//! show.

use super::*;
use proptest::prelude::*;

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) % bound) as usize
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u64)]
    }
}

struct Maker {
    language: Language,
    shape: Random,
    style: Random,
    text: String,
}

const COLUMNS: &[&str] = &["id", "Name", "t1.c", "a_2020", "created_at", "o.2024_x", "größe"];
const TABLES: &[&str] = &["orders", "shop.t1_2020", "Customer c", "t1 o"];

fn make(language: Language, shape: u64, style: u64) -> String {
    let mut maker =
        Maker { language, shape: Random(shape), style: Random(style), text: String::new() };
    maker.statement();
    maker.text
}

impl Maker {
    fn space(&mut self) {
        let comment = match self.language {
            Language::Mysql => "# it's 7777\n",
            _ => "/* a /* nested */ 'secret */",
        };
        let space = [" ", " ", "\n", "\t  ", " /* it's secret */ ", " -- secret '\n ", comment];
        self.text.push_str(self.style.of(&space));
    }

    /// Appends words, separated by spaces, in any case.
    fn code(&mut self, code: &str) {
        for word in code.split(' ') {
            self.space();
            match self.style.below(3) {
                0 => self.text.push_str(&word.to_ascii_uppercase()),
                _ => self.text.push_str(word),
            }
        }
    }

    fn literal(&mut self) {
        let common = [
            "77770",
            "-77771",
            "+ 7777.5",
            "7777e3",
            "7777.2E-7777",
            ".7777",
            "'secret'",
            "'O''secret'",
            "''",
            "null",
            "TRUE",
            "0x7777",
            "x'7777'",
            "'--secret'",
            "'/*secret'",
            "'secret\u{e9}'",
            "?",
            "N'secret'",
            "b'7777'",
            ":secret7777",
            "$7777",
        ];
        let mysql = [
            "\"secret\"",
            "'it\\'s secret'",
            "\"a\"\"secret\"",
            "_utf8mb4'secret'",
            "_latin1 x'7777'",
            "0b7777",
            "'secret' 'more secret'",
            "'secret\\\\'",
        ];
        let postgres = [
            "$$secret's$$",
            "$a$ $$secret $b$ $a$",
            "E'it\\'s secret'",
            "U&'secret\\0041'",
            "'secret\\'",
            "1_7777",
        ];
        self.space();
        let own: &[&str] = if self.language == Language::Mysql { &mysql } else { &postgres };
        let common_too = self.style.below(2) == 0;
        let literal = self.style.of(if common_too { &common } else { own });
        // After an operand, PostgreSQL's `?` would be an operator.
        let literal =
            if literal == "?" && self.language == Language::Postgres { "$1" } else { literal };
        self.text.push_str(literal);
    }

    /// Appends a list of literals of any length, in brackets.
    fn list(&mut self) {
        self.code("(");
        for at in 0..=self.style.below(5) {
            if at > 0 {
                self.code(",");
            }
            self.literal();
        }
        self.code(")");
    }

    fn column(&mut self) {
        let column = self.shape.of(COLUMNS);
        let column = if self.language == Language::Postgres {
            column.replace("o.2024_x", "o.x_2024")
        } else {
            column.into()
        };
        self.code(&column);
    }

    fn table(&mut self) {
        let table = self.shape.of(TABLES);
        self.code(table);
    }

    fn operand(&mut self, depth: u32) {
        match self.shape.below(if depth == 0 { 2 } else { 6 }) {
            0 => self.column(),
            1 => self.literal(),
            2 => {
                self.operand(depth - 1);
                let operator = self.shape.of(&["+", "-", "*", "/", "||", "%"]);
                self.code(operator);
                self.operand(depth - 1);
            }
            3 => {
                self.code("coalesce (");
                self.operand(depth - 1);
                self.code(",");
                self.operand(depth - 1);
                self.code(")");
            }
            4 => {
                self.code("(");
                self.select(depth - 1);
                self.code(")");
            }
            _ => {
                self.code("case when");
                self.condition(depth - 1);
                self.code("then");
                self.operand(depth - 1);
                self.code("end");
            }
        }
    }

    fn condition(&mut self, depth: u32) {
        match self.shape.below(if depth == 0 { 3 } else { 8 }) {
            0 => {
                self.column();
                let operator = self.shape.of(&["=", "<=", ">", "<>", "like"]);
                self.code(operator);
                self.literal();
            }
            1 => {
                self.column();
                self.code("in");
                self.list();
            }
            2 => {
                self.column();
                self.code("is not null");
            }
            3 => {
                self.condition(depth - 1);
                let operator = self.shape.of(&["and", "or"]);
                self.code(operator);
                self.condition(depth - 1);
            }
            4 => {
                self.code("( a , b ) in (");
                for at in 0..=self.style.below(3) {
                    if at > 0 {
                        self.code(",");
                    }
                    self.list();
                }
                self.code(")");
            }
            5 => {
                self.column();
                self.code("between");
                self.literal();
                self.code("and");
                self.literal();
            }
            6 => {
                self.code("id in (");
                self.select(depth - 1);
                self.code(")");
            }
            _ => {
                self.operand(depth - 1);
                self.code("=");
                self.operand(depth - 1);
            }
        }
    }

    fn select(&mut self, depth: u32) {
        self.code("select");
        self.operand(depth);
        self.code("from");
        self.table();
        if self.shape.below(3) > 0 {
            self.code("where");
            self.condition(depth);
        }
    }

    fn rows(&mut self) {
        let has_call = self.shape.below(2) == 0;
        self.code("values");
        for at in 0..=self.style.below(4) {
            if at > 0 {
                self.code(",");
            }
            if has_call {
                self.code("(");
                self.literal();
                self.code(", now ( ) ,");
                self.literal();
                self.code(")");
            } else {
                self.list();
            }
        }
    }

    fn limit(&mut self) {
        match self.shape.below(3) {
            0 => {}
            1 => {
                self.code("limit");
                self.literal();
            }
            _ => self.limit_from(),
        }
    }

    /// Appends one of the three forms of LIMIT with an offset.
    fn limit_from(&mut self) {
        let (first, second) = match self.style.below(3) {
            0 if self.language == Language::Mysql => ("limit", ","),
            1 => ("offset", "limit"),
            _ => ("limit", "offset"),
        };
        self.code(first);
        self.text.push_str(" 7777");
        self.code(second);
        self.text.push_str(" 7777");
    }

    fn statement(&mut self) {
        match self.shape.below(6) {
            0 | 1 => {
                self.select(3);
                self.limit();
            }
            2 => self.union(),
            3 => {
                let verb = self.shape.of(&["insert into", "replace into", "insert ignore into"]);
                self.code(verb);
                self.table();
                self.code("( a , b )");
                self.rows();
                if self.shape.below(2) == 0 {
                    self.code("on duplicate key update a = values ( a ) , b =");
                    self.literal();
                }
            }
            4 => {
                self.code("update");
                self.table();
                self.code("set a =");
                self.operand(2);
                self.code("where");
                self.condition(2);
                self.limit();
            }
            _ => {
                self.code("delete from");
                self.table();
                self.code("where");
                self.condition(3);
            }
        }
        self.space();
        if self.style.below(2) == 0 {
            self.text.push(';');
        }
    }

    /// Appends the same select several times, with different literals.
    fn union(&mut self) {
        let again = self.shape.0;
        let operator = ["union", "union all"][self.shape.below(2)];
        for at in 0..2 + self.style.below(4) {
            self.shape.0 = again;
            if at > 0 {
                self.code(operator);
            }
            self.select(1);
        }
        self.limit();
    }
}

fn languages() -> impl Strategy<Value = Language> {
    prop_oneof![Just(Language::Mysql), Just(Language::Postgres)]
}

/// Pieces of statements, mostly wrong ones; those in capitals have several forms.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "NUMBER", "NUMBER", "STRING", "STRING", "LIST", "LIST", " ", " ", " ", "'", "\"", "`", "e", "E", "0x", "1e", "/*+", "7m",
    "in", "IN ", "values", " values ", "(", ")", ",", ", ", ".", "-", "--", "/*", "*/", "#", "$", "$$", "null",
    "a", "t1", "_utf8", "@", ":", "?", "\\", " limit ", " union ", "select ", "call ", "use ", "array[", "]", "\0",
    "\n", ";", "é", "\u{fe}",
];
const NUMBERS: &[&str] = &["1", "23", "4.5", "007", "6.", ".8"];
const STRINGS: &[&str] = &["'a'", "'b -- c'", "''", "'it''s'", "'\\''", "'/*'", "'x\\\\'"];
const LISTS: &[&str] =
    &["(1)", "(1, 2)", "('a', null)", "( 7 ,'b''', (3))", "(1),(2)", "(1) , ('a',2), (0x3)"];

fn piece(number: usize, style: u64) -> &'static str {
    let forms = match PIECES[number] {
        "NUMBER" => NUMBERS,
        "STRING" => STRINGS,
        "LIST" => LISTS,
        plain => return plain,
    };
    forms[style as usize % forms.len()]
}

/// Whether the fingerprint contains neither marks of literals nor of comments.
fn shows_no_mark(fingerprint: &str) -> bool {
    let text = fingerprint.to_ascii_lowercase();
    !text.contains("secret") && !text.contains("777")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_literal_survives_and_style_does_not_count(language in languages(), shape: u64, one: u64, two: u64) {
        let (first, second) = (make(language, shape, one), make(language, shape, two));
        let mut fingerprinter = Fingerprinter::new(language);
        let (a, b) = (fingerprinter.fingerprint(first.as_bytes()), fingerprinter.fingerprint(second.as_bytes()));
        prop_assert!(shows_no_mark(&a), "{first}\n{a}");
        prop_assert_eq!(&a, &b, "{}\n{}", &first, &second);
        prop_assert_eq!(fingerprinter.key(first.as_bytes()), fingerprinter.key(second.as_bytes()));
    }

    #[test]
    fn keys_are_equal_where_texts_are(language in languages(), one: u64, two: u64) {
        let mut fingerprinter = Fingerprinter::new(language);
        let (first, second) = (make(language, one, 1), make(language, two, 1));
        let texts = (fingerprinter.fingerprint(first.as_bytes()), fingerprinter.fingerprint(second.as_bytes()));
        let keys = (fingerprinter.key(first.as_bytes()), fingerprinter.key(second.as_bytes()));
        prop_assert_eq!(texts.0 == texts.1, keys.0 == keys.1);
    }

    #[test]
    fn keys_that_were_remembered_are_those_of_the_text(
        language in languages(),
        pieces in prop::collection::vec((0..PIECES.len(), any::<[u64; 6]>()), 1..14),
    ) {
        let mut fingerprinter = Fingerprinter::new(language);
        for form in 0..6 {
            let text: String = pieces.iter().map(|(number, styles)| piece(*number, styles[form])).collect();
            prop_assert_eq!(
                fingerprinter.key(text.as_bytes()), fingerprinter.key_of_text(text.as_bytes()), "{}", text
            );
        }
    }

    #[test]
    fn statements_made_alike_have_keys_of_their_text(language in languages(), shape: u64, styles: [u64; 4]) {
        let mut fingerprinter = Fingerprinter::new(language);
        for style in styles {
            let text = make(language, shape, style);
            prop_assert_eq!(
                fingerprinter.key(text.as_bytes()), fingerprinter.key_of_text(text.as_bytes()), "{}", text
            );
        }
    }

    #[test]
    fn a_cut_statement_shows_no_literal(language in languages(), shape: u64, style: u64, cut: prop::sample::Index) {
        let statement = make(language, shape, style);
        let cut = &statement.as_bytes()[..cut.index(statement.len())];
        let text = Fingerprinter::new(language).fingerprint(cut);
        prop_assert!(shows_no_mark(&text), "{}\n{text}", String::from_utf8_lossy(cut));
    }

    #[test]
    fn any_bytes_end_and_keys_hold(language in languages(), bytes in prop::collection::vec(
        prop_oneof![prop::sample::select(b"'\"`\\$?:@#-/*+(),.;[]=<>! \n01ex_aNin values union select limit".to_vec()), any::<u8>()], 0..200)) {
        let mut fingerprinter = Fingerprinter::new(language);
        fingerprinter.fingerprint(&bytes);
        prop_assert_eq!(fingerprinter.key(&bytes), fingerprinter.key(&bytes));
        crate::sql::distill::distill(&bytes, language);
    }
}
