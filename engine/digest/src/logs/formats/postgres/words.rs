//! The words at the start of PostgreSQL's messages in the languages it is translated to
//! (`lc_messages`): severities, parts of messages, and phrases about statements. Source: message
//! catalogues of PostgreSQL 15.

/// The kind of a word at the start of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// `LOG`.
    Log,
    /// `ERROR`: the statement failed.
    Error,
    /// `FATAL`, `PANIC`: the session or the server ended.
    Fatal,
    /// `DEBUG1` to `WARNING`.
    Notice,
    /// `DETAIL`: a part of the message before it, as are the kinds below.
    Detail,
    /// `STATEMENT`.
    Statement,
    /// `CONTEXT`.
    Context,
    /// `HINT`, `QUERY`, `LOCATION`, `BACKTRACE`.
    Other,
}

impl Word {
    /// Whether the word begins a message.
    pub(super) fn is_severity(self) -> bool {
        matches!(self, Word::Log | Word::Error | Word::Fatal | Word::Notice)
    }

    /// The kind of the severity `name`, as csvlog and jsonlog write it.
    pub(super) fn severity(name: &[u8]) -> Option<Self> {
        let (word, _) = find(name)?;
        word.is_severity().then_some(word)
    }
}

/// Upper limit of a word's length. The longest has 33 bytes: Chinese for PANIC.
const WORD_BYTES_MAX: usize = 40;

/// The word at the start of `text`, and its length with the colon and two spaces.
#[inline]
pub(super) fn word(text: &[u8]) -> Option<(Word, usize)> {
    if text.starts_with(b"LOG:  ") {
        return Some((Word::Log, 6));
    }
    // Capitals, or a script other than ASCII.
    if !matches!(text.first()?, b'A'..=b'Z' | 0xC3..) {
        return None;
    }
    let head = &text[..text.len().min(WORD_BYTES_MAX)];
    let colon = memchr::memchr(b':', head)?;
    let (word, is_exact) = find(&head[..colon])?;
    let spaces = text[colon + 1..].iter().take(2).take_while(|byte| **byte == b' ').count();
    // A message may be empty, and editors remove trailing spaces.
    let is_end = matches!(text.get(colon + 1 + spaces), None | Some(b'\n' | b'\r'));
    (spaces == 2 || is_end || is_exact == Exact::No).then_some((word, colon + 1 + spaces))
}

/// Offset of the first word at or after `from`.
pub(super) fn first(text: &[u8], from: usize) -> Option<usize> {
    let mut begin = from;
    loop {
        let colon = begin + memchr::memchr(b':', text.get(begin..)?)?;
        if let Some(b'A'..=b'Z' | b'0'..=b'9' | b' ' | 0x80..) = text[begin..colon].last() {
            let nearest = begin.max(colon.saturating_sub(WORD_BYTES_MAX));
            let found = (nearest..colon).find(|&at| word(&text[at..]).is_some());
            if found.is_some() {
                return found;
            }
        }
        begin = colon + 1;
    }
}

/// Whether exactly two spaces follow the colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exact {
    Yes,
    No,
}

fn find(name: &[u8]) -> Option<(Word, Exact)> {
    let word = match name {
        b"LOG" => Word::Log,
        b"ERROR" => Word::Error,
        b"DETAIL" => Word::Detail,
        b"STATEMENT" => Word::Statement,
        b"CONTEXT" => Word::Context,
        b"FATAL" | b"PANIC" => Word::Fatal,
        b"WARNING" | b"NOTICE" | b"INFO" | b"DEBUG" | b"DEBUG1" | b"DEBUG2" | b"DEBUG3"
        | b"DEBUG4" | b"DEBUG5" => Word::Notice,
        b"HINT" | b"QUERY" | b"LOCATION" | b"BACKTRACE" => Word::Other,
        _ => return translated(std::str::from_utf8(name).ok()?),
    };
    Some((word, Exact::Yes))
}

fn translated(name: &str) -> Option<(Word, Exact)> {
    let trimmed = name.trim_end_matches([' ', '\u{a0}']);
    let row = |words: &[&str]| words.contains(&trimmed);
    let word = [
        (Word::Log, LOG),
        (Word::Error, ERROR),
        (Word::Fatal, FATAL),
        (Word::Notice, NOTICE),
        (Word::Detail, DETAIL),
        (Word::Statement, STATEMENT),
        (Word::Context, CONTEXT),
        (Word::Other, OTHER),
    ]
    .into_iter()
    .find(|(_, words)| row(words))?
    .0;
    // The French and Korean catalogues do not always have two spaces.
    let exact = if word.is_severity() { Exact::Yes } else { Exact::No };
    Some((word, exact))
}

const LOG: &[&str] = &["LOGG", "ჟურნალი", "로그", "СООБЩЕНИЕ", "ЗАПИСУВАННЯ", "日志", "DZIENNIK"];
const ERROR: &[&str] = &[
    "FEHLER",
    "ERREUR",
    "ERRORE",
    "შეცდომა",
    "오류",
    "ОШИБКА",
    "FEL",
    "ПОМИЛКА",
    "错误",
    "ERRO",
    "BŁĄD",
    "HATA",
    "CHYBA",
];
const FATAL: &[&str] = &[
    "PANIK",
    "FATALE",
    "PANICO",
    "ფატალური",
    "პანიკა",
    "치명적오류",
    "손상",
    "ВАЖНО",
    "ПАНИКА",
    "FATALT",
    "ФАТАЛЬНО",
    "ПАНІКА",
    "致命错误",
    "比致命错误还过分的错误",
    "PÂNICO",
];
const NOTICE: &[&str] = &[
    "HINWEIS",
    "WARNUNG",
    "ATTENTION",
    "NOTIFICA",
    "ATTENZIONE",
    "გამართვა",
    "ინფორმაცია",
    "გაფრთხილება",
    "디버그",
    "정보",
    "알림",
    "경고",
    "ОТЛАДКА",
    "ИНФОРМАЦИЯ",
    "ЗАМЕЧАНИЕ",
    "ПРЕДУПРЕЖДЕНИЕ",
    "NOTIS",
    "VARNING",
    "НАЛАГОДЖЕННЯ",
    "ІНФОРМАЦІЯ",
    "ПОВІДОМЛЕННЯ",
    "ПОПЕРЕДЖЕННЯ",
    "调试",
    "信息",
    "注意",
    "警告",
];
const DETAIL: &[&str] = &[
    "DETALLE",
    "DÉTAIL",
    "DETTAGLI",
    "詳細",
    "დეტალები",
    "상세정보",
    "ПОДРОБНОСТИ",
    "DETALJ",
    "ВІДОМОСТІ",
    "详细信息",
];
const STATEMENT: &[&str] = &[
    "ANWEISUNG",
    "SENTENCIA",
    "INSTRUCTION",
    "ISTRUZIONE",
    "文",
    "ოპერატორი",
    "명령 구문",
    "ОПЕРАТОР",
    "SATS",
    "ІНСТРУКЦІЯ",
    "语句",
];
const CONTEXT: &[&str] = &[
    "ZUSAMMENHANG",
    "CONTEXTO",
    "CONTEXTE",
    "CONTESTO",
    "文脈",
    "კონტექსტი",
    "내용",
    "КОНТЕКСТ",
    "KONTEXT",
    "上下文",
];
const OTHER: &[&str] = &[
    "TIPP",
    "ANFRAGE",
    "CONSULTA",
    "ASTUCE",
    "REQUÊTE",
    "PILE D'APPEL",
    "SUGGERIMENTO",
    "ヒント",
    "問い合わせ",
    "バックトレース",
    "მინიშნება",
    "მოთხოვნა",
    "სტეკი",
    "힌트",
    "쿼리",
    "역추적",
    "ПОДСКАЗКА",
    "ЗАПРОС",
    "СТЕК",
    "TIPS",
    "FRÅGA",
    "УКАЗІВКА",
    "ЗАПИТ",
    "ВІДСТЕЖУВАТИ",
    "提示",
    "查询",
    "ORT",
    "UBICACIÓN",
    "EMPLACEMENT",
    "POSIZIONE",
    "場所",
    "МЕСТО",
    "PLATS",
    "РОЗТАШУВАННЯ",
    "위치",
    "位置",
];

/// The phrases of one language in messages about statements. A phrase that takes a name (`execute S_1: `)
/// precedes it.
pub(super) struct Phrases {
    /// Before the number of milliseconds.
    pub(super) duration: &'static str,
    /// After that number.
    pub(super) unit: &'static str,
    pub(super) statement: &'static str,
    pub(super) parse: &'static str,
    pub(super) bind: &'static str,
    pub(super) execute: &'static str,
    pub(super) fetch: &'static str,
    /// Before the parameters in a detail.
    pub(super) parameters: &'static str,
}

macro_rules! phrases {
    ($([$duration:literal, $unit:literal, $statement:literal, $parse:literal, $bind:literal,
        $execute:literal, $fetch:literal, $parameters:literal],)*) => {
        &[$(Phrases {
            duration: $duration, unit: $unit, statement: $statement, parse: $parse, bind: $bind,
            execute: $execute, fetch: $fetch, parameters: $parameters,
        },)*]
    };
}

/// English first, then de, es, fr, it, ja, ru, sv, uk, zh_CN, ko, ka. Korean and Georgian put the name
/// before the verb, so their prepared statements are not understood; their simple ones are.
#[rustfmt::skip]
pub(super) const PHRASES: &[Phrases] = phrases![
    ["duration: ", " ms", "statement: ", "parse ", "bind ", "execute ", "execute fetch from ", "parameters: "],
    ["Dauer: ", " ms", "Anweisung: ", "Parsen ", "Binden ", "Ausführen ", "Ausführen Fetch von ", "Parameter: "],
    ["duración: ", " ms", "sentencia: ", "parse: ", "bind ", "ejecutar ", "ejecutar fetch desde ", "parámetros: "],
    ["durée : ", " ms", "instruction : ", "analyse ", "lien ", "exécute ", "exécute fetch à partir de ", "paramètres : "],
    ["durata: ", " ms", "istruzione: ", "analisi di ", "bind ", "esecuzione di ", "esecuzione di fetch da ", "parametri: "],
    ["期間: ", " ミリ秒", "文: ", "パース", "バインド ", "実行 ", "取り出し実行 ", "パラメータ: "],
    ["продолжительность: ", " мс", "оператор: ", "разбор ", "сообщение Bind ", "выполнение ", "выборка из ", "параметры: "],
    ["varaktighet: ", " ms", "sats: ", "parse ", "bind ", "kör ", "kör hämtning från ", "parametrar: "],
    ["varaktighet ", " ms", "sats: ", "parse ", "bind ", "kör ", "kör hämtning från ", "parametrar: "],
    ["тривалість: ", " мс", "оператор: ", "аналізування ", "повідомлення bind ", "виконувати ", "виконати витягнення з ", "параметри: "],
    ["执行时间: ", " ms", "语句: ", "解析 ", "绑定", "执行", "执行FETCH操作", "参数: "],
    ["실행시간: ", " ms", "명령 구문: ", "\0", "\0", "쿼리실행 ", "자료뽑기 ", "매개 변수: "],
    ["수행시간: ", " ms", "명령 구문: ", "\0", "\0", "쿼리실행 ", "자료뽑기 ", "매개 변수: "],
    ["ხანგრძლივობა: ", " მწმ", "გამოსახულება: ", "\0", "მიბმა ", "გაშვება ", "\0", "პარამეტრები: "],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_known_in_many_languages() {
        assert_eq!(word(b"LOG:  x"), Some((Word::Log, 6)));
        assert_eq!(word("FEHLER:  x".as_bytes()), Some((Word::Error, 9)));
        assert_eq!(word("ANWEISUNG:  x".as_bytes()), Some((Word::Statement, 12)));
        assert_eq!(word("INSTRUCTION :  x".as_bytes()), Some((Word::Statement, 15)));
        assert_eq!(word("ОШИБКА:  x".as_bytes()).map(|found| found.0), Some(Word::Error));
        assert_eq!(word("日志:  x".as_bytes()), Some((Word::Log, 9)));
        assert_eq!(word(b"LOG: x"), None);
        assert_eq!(word(b"LOG:"), Some((Word::Log, 4)));
        assert_eq!(word(b"mail: x"), None);
        assert_eq!(Word::severity(b"WARNING"), Some(Word::Notice));
        assert_eq!(Word::severity(b"DETAIL"), None);
    }

    #[test]
    fn words_are_found_in_a_line() {
        let line = "06:40 LOG: x DIALOG:  INSTRUCTION :  y".as_bytes();
        assert_eq!(first(line, 0), Some(16));
        assert_eq!(first(line, 16), Some(16));
        assert_eq!(first(line, 17), Some(22));
        assert_eq!(first(line, 23), None);
        assert_eq!(first(line, 99), None);
    }
}
