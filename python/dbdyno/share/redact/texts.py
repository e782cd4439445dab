"""Rules for texts of one kind each: prose, paths and URLs, SQL, query plans, values of settings.

All of them refuse by default: SQL keeps keywords, operators and the order of things, and loses
names and literals; prose keeps dbdyno's own words and loses what is quoted, and every host, user,
address and path in it. Sources: SQL:2016 (lexical elements), RFC 3986 (URLs), RFC 4291 (IPv6).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from dbdyno.share.redact import vocabulary
from dbdyno.share.redact.aliases import Aliases

LEFT_OUT = "(omitted)"
LITERAL = "?"

_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\"`<>(){}\[\],;]+|\bprometheus:[^\s'\"`<>,;]+", re.I)
_AT = re.compile(r"([\w.%+-]+)@(\[[0-9a-f:.]+\]|[\w.%-]+)", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w/.:<])~?/(?:[\w.@%+~=:-]+/?)+|(?<![\w/.])\.{1,2}/(?:[\w.@%+~=-]+/?)+")
_RELATIVE = re.compile(
    r"(?<![\w/.])[\w.-]+(?:/[\w.@%+-]+)*\.(?:sql|dump|ya?ml|csv|gz|zst|log|cnf|conf|"
    r"pem|crt|key|sock|db|sqlite|sh|py|txt|ini|env)\b"
)
_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\w)")
_IPV6 = re.compile(
    r"(?<![\w:.])(?:(?:[0-9a-f]{1,4}:){4,7}[0-9a-f]{1,4}|(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4})*)?::"
    r"(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4})*)?)(?![\w:])",
    re.IGNORECASE,
)
_DOMAIN = re.compile(
    r"(?<![\w.@-])(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:com|net|org|io|dev|app|cloud|info|biz|gov|"
    r"edu|int|mil|local|localdomain|internal|intern|intra|lan|corp|home|prod|svc|cluster|example|"
    r"test|invalid|[a-z]{2})(?![\w-])",
    re.IGNORECASE,
)
_UUID = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE)
_HOME = re.compile(r"^(?:/home|/Users)/([^/]+)")
# From the first quote to the last of its kind on the line: texts in texts hold quotes themselves.
_QUOTED = re.compile(r"(?<!\w)'[^\n]*'(?!\w)|\"[^\n]*\"|`[^\n`]*`|(?<=\)=)\([^\n]*\)")

_TOKEN = re.compile(
    r"""
    (?P<comment>/\*.*?\*/|--[^\n]*|\#[^\n]*)
  | (?P<dollar>\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)
  | (?P<string>[nNbBxXeE]?'(?:[^'\\]|\\.|'')*(?:'|$))
  | (?P<quoted>"(?:[^"\\]|\\.|"")*(?:"|$)|`[^`]*(?:`|$))
  | (?P<placeholder>\?|\$\d+|%s)
  | (?P<parameter>(?<!:):[A-Za-z_]\w*)
  | (?P<variable>@@?[\w.$]+)
  | (?P<number>0[xX][0-9A-Fa-f]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?!\w))
  | (?P<word>[^\W\d][\w$]*|\d+[^\W\d][\w$]*)
  | (?P<space>\s+)
  | (?P<mark>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_TABLE_AFTER = frozenset(("from", "join", "into", "update", "table", "truncate", "references"))
_SETS = re.compile(
    r"^\s*(?P<head>set(?:\s+(?:session|global|local))?\s+@{0,2}|pragma\s+)(?P<name>[\w.@]+)"
    r"\s*(?P<equals>=|\bto\b)\s*(?P<value>.*?);?\s*$",
    re.IGNORECASE | re.DOTALL,
)

_TELLING = re.compile(
    r"host|addr|user|role|owner|login|passw|secret|token|dir$|_dir_|directory|file|path|socket|"
    r"database|catalog|schema|search_path|name|uuid|uid|cluster|node|dn$|cert|_key$|ssl_|tls_|"
    r"connect$|command|init_|comment|label|title|report_|domain|application|preload|librar|plugin|"
    r"log_line|log_error|tmp|publish|subscri|region|zone|account|email|url|uri",
    re.IGNORECASE,
)
_PLAIN = re.compile(
    r"character_set_|collation_|password_encryption|plugin_maturity|session_replication_role|"
    r"(?:date|time|datetime)_format|default_storage_engine",
    re.IGNORECASE,
)
_QUANTITY = re.compile(
    r"[+-]?\d[\d,]*(?:\.\d+)?\s*(?:[eE][+-]?\d+)?\s*(?:[kKMGTP]?i?[bB]?|ns|us|ms|s|min|m|h|d|%|/s|/h|/day|"
    r"/month)?"
)
_VALUE_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:\.[0-9]+)*")


class Texts:
    """The rules, with the aliases of one run. `labels`: names of the experiment itself (groups,
    factors, classes ...), casefolded, which stay unless they are somebody's name."""

    def __init__(self, aliases: Aliases) -> None:
        self.aliases = aliases
        self.labels: set[str] = set()
        self.heads: set[str] = set()  # of these, what metrics' names begin with

    # -- single names ----------------------------------------------------------------------------

    def name(self, kind: str, name: str) -> str:
        """The alias of a name in the place of such a name."""
        bare = name.strip("`\"'[] ")
        if not bare or vocabulary.is_public(bare):
            return name
        return self.aliases.of(kind, bare)

    def host(self, host: str) -> str:
        """The alias of a host, short or qualified, or of an address."""
        bare = host.strip("[]")
        alias = self.name("host", bare)
        first, _, parent = bare.partition(".")
        if alias != bare and parent and not first.isdigit():
            if not self._common(first):
                self.aliases.also(first, alias)
            if "." in parent:
                self.aliases.of("domain", parent)
        return alias

    def path(self, path: str) -> str:
        """The alias of a path; whose home it lies in is a user's name too."""
        if home := _HOME.match(path):
            self.name("user", home[1])
        stripped = path.rstrip("/.,:;")
        return self.aliases.of("path", stripped) + path[len(stripped) :] if stripped else path

    def whole(self, kind: str, text: str) -> str:
        """The alias of a text of which nothing stays."""
        return self.aliases.of(kind, text) if text.strip() else text

    def url(self, url: str) -> str:
        """A URL with its scheme and port: user, host and the schema that its path names go."""
        if url.startswith("prometheus:") and "://" in url:
            return "prometheus:" + self.url(url.removeprefix("prometheus:"))
        try:
            parts = urlsplit(url)
            port = f":{parts.port}" if parts.port else ""
        except ValueError:
            return self.whole("text", url)
        if not parts.scheme or not parts.netloc:
            return self.whole("text", url)
        user = f"{self.name('user', parts.username)}@" if parts.username else ""
        host = self.host(parts.hostname) if parts.hostname else ""
        path = "/" + self.name("schema", parts.path[1:]) if len(parts.path) > 1 else parts.path
        rest = "?" + LITERAL if parts.query or parts.fragment else ""
        return f"{parts.scheme}://{user}{host}{port}{path}{rest}"

    # -- texts -----------------------------------------------------------------------------------

    def label(self, text: str) -> str:
        """A name that the author gave to a part of the experiment, or an expression of such names:
        stays, except for names and addresses in it."""
        return self.aliases.in_text(self._addresses(text), vocabulary.OWN)

    def prose(self, text: str) -> str:
        """A sentence of dbdyno that may quote others."""

        def quoted(found: re.Match[str]) -> str:
            inner = found[0][1:-1]
            harmless = self._harmless(inner)
            return found[0] if harmless else f"{found[0][0]}{LITERAL}{found[0][-1]}"

        return self.label(_QUOTED.sub(quoted, _UUID.sub(LITERAL, self._addresses(text))))

    def _addresses(self, text: str) -> str:
        text = _URL.sub(lambda found: self.url(found[0]), text)
        text = _AT.sub(lambda found: f"{self._user(found[1])}@{self._at(found[2])}", text)
        text = _PATH.sub(lambda found: self.path(found[0]), text)
        text = _RELATIVE.sub(lambda found: self.path(found[0]), text)
        for pattern in (_IPV4, _IPV6, _DOMAIN):
            text = pattern.sub(lambda found: self._host_or_metric(found[0]), text)
        return text

    def _user(self, user: str) -> str:
        return user if re.fullmatch(r"user-\d+", user) else self.name("user", user)

    def _at(self, host: str) -> str:
        return host if re.fullmatch(r"host-\d+", host) else self.host(host)

    def _host_or_metric(self, text: str) -> str:
        """`readers.status.io` looks like a host, and is a metric of a group."""
        head = text.partition(".")[0].casefold()
        common = head in self.heads or head in vocabulary.OWN
        return text if common and not head.isdigit() and ":" not in text else self.host(text)

    def _harmless(self, text: str) -> bool:
        words = re.findall(r"[^\W\d_][^\W_]*", text.casefold())
        return all(
            word in self.labels or word in vocabulary.OWN or word in vocabulary.KINDS_OF_ALIASES
            for word in words
        ) and not re.search(r"\d{5,}", text)

    def _common(self, word: str) -> bool:
        return word.casefold() in vocabulary.OWN or word.casefold() in self.labels

    # -- SQL and plans ---------------------------------------------------------------------------

    def sql(self, text: str) -> str:
        """A statement's shape: keywords and operators; aliases for names, `?` for literals."""
        if assignment := _SETS.match(text):
            name, value = assignment["name"], assignment["value"]
            shown = self.setting(name, value.strip("'\""))
            return f"{assignment['head'].strip()} {name} {assignment['equals']} {shown}"
        return self._tokens(text, vocabulary.SQL, self._literal_number)

    def explain(self, text: str) -> str:
        """A query plan's shape: its words and numbers; aliases for names, `?` for literals."""
        return self._tokens(text, vocabulary.PLAN, _plan_number)

    def _tokens(self, text: str, known: frozenset[str], number: object) -> str:
        out: list[str] = []
        before = ""  # the last word or mark
        tokens = list(_TOKEN.finditer(text))
        for nth, token in enumerate(tokens):
            kind, body = str(token.lastgroup), token[0]
            if kind == "tag":
                kind = "dollar"
            if kind == "comment":
                # In a plan, `#` and `--` are drawing; in SQL, free remarks.
                out.append(body if not re.search(r"\w", body) else " ")
                continue
            if kind in ("string", "dollar"):
                out.append(LITERAL)
            elif kind == "quoted":
                out.append(self._quoted(body, before, tokens, nth))
            elif kind == "parameter":
                out.append(":" + self.name("parameter", body[1:]))
            elif kind == "variable":
                out.append(
                    body if body.startswith("@@") else "@" + self.name("parameter", body[1:])
                )
            elif kind == "number":
                out.append(number(body, text, token.start(), before))  # type: ignore[operator]
            elif kind == "word":
                out.append(self._word(body, before, known, tokens, nth))
            else:
                out.append(body)
            if kind != "space":
                before = body.casefold()
        return "".join(out)

    def _quoted(self, body: str, before: str, tokens: list[re.Match[str]], nth: int) -> str:
        inner = body[1:-1]
        if not re.fullmatch(r"[\w$ .-]+", inner) or (body[0] == '"' and before in ("=", "(", ",")):
            return LITERAL if not self._known(inner) else f"{body[0]}{self._known(inner)}{body[0]}"
        return f"{body[0]}{self._word(inner, before, frozenset(), tokens, nth)}{body[0]}"

    def _known(self, name: str) -> str:
        replaced = self.aliases.in_text(name)
        return replaced if replaced != name and re.fullmatch(r"[a-z]+-\d+", replaced) else ""

    def _word(
        self,
        word: str,
        before: str,
        known: frozenset[str],
        tokens: list[re.Match[str]],
        nth: int,
    ) -> str:
        after = next((t[0] for t in tokens[nth + 1 :] if t.lastgroup != "space"), "")
        folded = word.casefold()
        if folded in known and before != ".":
            return word
        if vocabulary.is_public(word):
            return word
        if after == "(" and before not in _TABLE_AFTER:
            return self.name("function", word)
        if before in _TABLE_AFTER:
            return self.name("schema" if after == "." else "table", word)
        if after == "." and before != ".":
            return self.name("table", word)
        if before == "using":  # in a plan; in SQL a parenthesis follows
            return self.name("index", word)
        return self.name("column", word)

    def _literal_number(self, body: str, text: str, start: int, before: str) -> str:
        return LITERAL

    # -- settings --------------------------------------------------------------------------------

    def setting(self, name: str, value: str) -> str:
        """A setting's value: quantities and words stay, unless the setting's name is one of an
        identity or a place."""
        if not value or _QUANTITY.fullmatch(value):
            return value
        if re.search(r"(^|_)version", name):
            return self.prose(value)
        folded = value.casefold()
        if folded in vocabulary.SETTING or vocabulary.is_public(value):
            return value
        if re.search(r"host(name)?$", name, re.IGNORECASE) and re.fullmatch(r"[\w.-]+", value):
            return self.host(value)
        if _TELLING.search(name) and not _PLAIN.match(name):
            return self.path(value) if value.startswith("/") else self.whole("value", value)
        parts = re.split(r"[,;\s]+", value)
        if all(self._setting_part(part) for part in parts):
            return self.label(value)
        return self.path(value) if re.fullmatch(_PATH, value) else self.whole("value", value)

    def _setting_part(self, part: str) -> bool:
        name, equals, value = part.partition("=")
        words = [name, value] if equals else [name]
        return all(_QUANTITY.fullmatch(w) or _VALUE_WORD.fullmatch(w) or not w for w in words)

    def words(self, values: Iterable[str]) -> None:
        """Adds names of the experiment itself."""
        for value in values:
            self.labels.add(value.casefold())
            self.labels.update(re.findall(r"[^\W\d_][^\W_]*", value.casefold()))


def _plan_number(body: str, text: str, start: int, before: str) -> str:
    """Numbers that the planner counted stay; those of conditions go: they follow an operator and a
    space, or in a list."""
    spaced = start > 0 and text[start - 1].isspace()
    behind = before in ("=", "<", ">", "+", "-", "*", "/", "between", "and", "in", "like", ":")
    opened = before in ("(", ",", "[") and not _is_count(text, start)
    return LITERAL if (behind and spaced) or opened else body


def _is_count(text: str, start: int) -> bool:
    """`(1 row)`, `(12 rows)`."""
    return bool(re.match(r"[\d.]+ +(?:rows?|kB|ms)\b", text[start:]))
