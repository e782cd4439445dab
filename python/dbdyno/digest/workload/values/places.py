"""The places of values in a statement: which column each belongs to, and which cannot be filled
with made-up values.

Templates hold no literals (`shape.py`), so only words, names and operators identify a place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dbdyno.digest.workload.profile import Summary
from dbdyno.experiment.values.generators import END_MAX

_TOKEN = re.compile(
    r"""
    (?P<place>:p(?P<number>\d+)\b)
  | (?P<name>"(?:[^"]|"")*"|`(?:[^`]|``)*`|[^\W\d][\w$]*)
  | (?P<hint>/\*.*?\*/)
  | (?P<operator>::|<=>|<=|>=|<>|!=|->>|->|\#>>|\#>|:=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_EQUAL = frozenset({"=", "<=>", "in"})
_FILTERS = frozenset({"where", "on", "having"})  # what follows these selects rows
_OTHERS = frozenset(
    """set select values update when then case limit offset by returning""".split()  # noqa: SIM905
)
_COMPARES = frozenset(
    """= < > <= >= <> != <=> like ilike rlike regexp""".split()  # noqa: SIM905
)
_TYPES = frozenset(
    """char varchar nchar character varying binary varbinary decimal dec numeric float double bit
    time timestamp timestamptz datetime""".split()  # noqa: SIM905
)
_TEXT_TYPES = frozenset(
    """text varchar char character bpchar citext name bytea uuid date time timestamp timestamptz
    int integer bigint smallint numeric""".split()  # noqa: SIM905
)
# Behind these a text says what is meant, and any other would be an error or another question.
_STRUCTURE = frozenset("""-> ->> #> #>> interval separator escape zone""".split())  # noqa: SIM905
_STRUCTURE_CALLS = re.compile(
    r"json\w*|date_format|time_format|str_to_date|date_trunc|date_part|to_char|to_date|to_number"
    r"|to_timestamp|to_tsvector|to_tsquery|plainto_tsquery|regexp\w*|convert_tz|timezone|nextval"
    r"|has_\w+_privilege|setval|currval|set_config|current_setting|format|extractvalue|xpath|encode|decode",
    re.IGNORECASE,
)
DOCUMENTS = "documents (JSON) and arrays in one value: a made-up text is none"
QUESTION = "a text that is part of the question"
_BY_ENDS = frozenset(
    """limit offset having for union except intersect fetch into window procedure
    """.split()  # noqa: SIM905
)


class Expression(str):
    """SQL at a place instead of a parameter."""


@dataclass(frozen=True)
class Place:
    """The place of a value: `column` as written, if it is known; `is_key`: rows are selected that
    have it there; `is_set`: it is what rows get there; `operator`: by which it is compared, in
    small letters."""

    number: int  # from 1
    column: str | None = None
    is_key: bool = False
    is_set: bool = False
    qualifier: str | None = None  # of the column
    operator: str = field(default="", compare=False)


@dataclass(frozen=True)
class Places:
    """A statement's text with the numbers of its syntax put in, and its places. `refused`: why it
    cannot be sent with made-up values, if so."""

    sql: str
    places: tuple[Place, ...]
    refused: str | None = None
    fixed: Mapping[int, str] = field(default_factory=dict)  # what is no value, by place
    asked: tuple[int, ...] = ()  # places of texts that are part of the question

    def element(self, text: str, names: Mapping[int, str]) -> str:
        """A part of the template, as `sql` has it with other names for its places."""
        return renamed(_put(text, self.fixed), names)


@dataclass(frozen=True)
class _Token:
    text: str
    number: int | None = None  # of a place

    @property
    def low(self) -> str:
        return self.text.lower()

    @property
    def is_name(self) -> bool:
        return self.number is None and (self.text[:1] in '"`_' or self.text[:1].isalpha())


def look(
    template: str, parameters: Sequence[Summary], texts: Mapping[int, str] | None = None
) -> Places:
    """Takes a template apart. `texts`: the contents of some places, as SQL."""
    tokens = _tokens(template)
    fixed = {
        number: str(int(summary.least))
        for number in _in_syntax(tokens)
        if 0 < number <= len(parameters)
        and (summary := parameters[number - 1]).kind == "whole"
        and summary.least is not None
        and summary.least == summary.greatest
    } | {**(texts or {})}
    columns = _insert_columns(tokens)
    places, refused, asked = [], None, []
    for at, token in enumerate(tokens):
        if token.number is None or token.number in fixed:
            continue
        column = columns.get(at) or _compared(tokens, at)
        qualifier = _qualifier(tokens, at) if at not in columns else None
        operator = _operator(tokens, at) if at not in columns else None
        place = Place(
            token.number,
            column,
            is_key=_chosen_by(tokens, at) in _FILTERS,
            is_set=at in columns or _chosen_by(tokens, at) in ("set", "update"),
            qualifier=qualifier,
            operator="" if operator is None else tokens[operator].low,
        )
        places.append(place)
        if token.number > len(parameters):
            refused = "more than 1,000 values in one statement"
        elif (why := _refused(tokens, at, parameters[token.number - 1])) is not None:
            asked += [token.number] if why.startswith(QUESTION) else []
            refused = refused or why
    return Places(_put(template, fixed), tuple(places), refused, fixed, tuple(asked))


def _tokens(template: str) -> list[_Token]:
    return [
        _Token(match.group(), int(match["number"]) if match["number"] else None)
        for match in _TOKEN.finditer(template)
        if not match.group().isspace()
    ]


def in_syntax(template: str) -> set[int]:
    """Places of numbers that are part of the syntax: columns by number, lengths of types."""
    return {*_in_syntax(_tokens(template))}


def pieces(template: str) -> Iterator[tuple[str, int | None]]:
    """A template's words and signs, and the number of each that is a place."""
    for match in _TOKEN.finditer(template):
        if not match.group().isspace():
            yield match.group(), int(match["number"]) if match["number"] else None


def _put(template: str, fixed: Mapping[int, str]) -> str:
    def put(match: re.Match[str]) -> str:
        number = match["number"]
        return fixed.get(int(number), match.group()) if number else match.group()

    return _TOKEN.sub(put, template)


def renamed(sql: str, names: Mapping[int, str]) -> str:
    """The statement with other names for its places, by number."""

    def put(match: re.Match[str]) -> str:
        if not match["number"]:
            return match.group()
        name = names[int(match["number"])]
        return name if isinstance(name, Expression) else f":{name}"

    return _TOKEN.sub(put, sql)


def _in_syntax(tokens: Sequence[_Token]) -> Iterator[int]:
    """Places of numbers that are part of the syntax: columns by number behind ORDER BY and GROUP
    BY, lengths of types."""
    depth, by_depth = 0, -1
    type_depth = -1
    for at, token in enumerate(tokens):
        before = tokens[at - 1].low if at else ""
        if token.text == "(":
            depth += 1
            starts = at >= 2 and tokens[at - 2].low in ("as", "::", ",", "varying")
            if before in _TYPES and (starts or (at >= 3 and tokens[at - 3].text == "::")):
                type_depth = depth
        elif token.text == ")":
            if depth in (by_depth, type_depth):
                by_depth = -1 if by_depth == depth else by_depth
                type_depth = -1 if type_depth == depth else type_depth
            depth -= 1
        elif token.low == "by" and at and tokens[at - 1].low in ("order", "group"):
            by_depth = depth
        elif token.low in _BY_ENDS and depth == by_depth:
            by_depth = -1
        elif token.number is not None:
            is_item = depth == by_depth and before in ("by", ",")
            if is_item or depth == type_depth:
                yield token.number


def _insert_columns(tokens: Sequence[_Token]) -> dict[int, str]:
    """Columns of the values of `INSERT INTO t (a, b) VALUES (:p1, :p2), ...`, by position."""
    if not tokens or tokens[0].low not in ("insert", "replace"):
        return {}
    found: dict[int, str] = {}
    values = next((at for at, t in enumerate(tokens) if t.low in ("values", "value")), None)
    if values is None:
        return {}
    names: list[str] = []
    if tokens[values - 1].text == ")":
        opening = next((at for at in range(values, 0, -1) if tokens[at].text == "("), values)
        names = [_bare(t.text) for t in tokens[opening:values] if t.is_name]
    depth, index = 0, 0
    for at in range(values + 1, len(tokens)):
        text = tokens[at].text
        if text == "(":
            depth += 1
            index = 0 if depth == 1 else index
        elif text == ")":
            depth -= 1
        elif depth == 0 and tokens[at].is_name:
            break  # ON DUPLICATE KEY, ON CONFLICT, RETURNING
        elif text == "," and depth == 1:
            index += 1
        elif tokens[at].number is not None and depth == 1 and tokens[at - 1].text in ("(", ","):
            if names and index < len(names):
                found[at] = names[index]
            elif not names:
                found[at] = f"column_{index + 1}"
    return found


def _operator(tokens: Sequence[_Token], at: int) -> int | None:
    """Index of the word by which a place is compared, or set."""
    before = at - 1
    if before >= 2 and tokens[before].low == "and" and tokens[before - 1].number is not None:
        if tokens[before - 2].low != "between":
            return None
        before -= 2
    elif tokens[before].text in ("(", ","):
        while before > 0 and (tokens[before].text == "," or tokens[before].number is not None):
            before -= 1
        before -= 1
        if before < 1 or tokens[before].low != "in":
            return None
    low = tokens[before].low if before >= 0 else ""
    known = low in _COMPARES or low in ("in", "between", "limit", "offset")
    return before if known else None


def _compared(tokens: Sequence[_Token], at: int) -> str | None:
    """The column that a place is compared with, or set to."""
    operator = _operator(tokens, at)
    if operator is not None and tokens[operator].low in ("limit", "offset"):
        return tokens[operator].low
    name = _compared_name(tokens, at)
    return None if name is None else _bare(tokens[name].text)


def _compared_name(tokens: Sequence[_Token], at: int) -> int | None:
    """Index of that column."""
    before = _operator(tokens, at)
    if before is None:
        return None
    before -= 1
    if before >= 0 and tokens[before].low == "not":
        before -= 1
    return before if before >= 0 and tokens[before].is_name else None


def _qualifier(tokens: Sequence[_Token], at: int) -> str | None:
    """The name before the column that a place is compared with: `u` of `u.id`."""
    name = _compared_name(tokens, at)
    if name is None or name < 2 or tokens[name - 1].text != "." or not tokens[name - 2].is_name:
        return None
    return _bare(tokens[name - 2].text)


def _chosen_by(tokens: Sequence[_Token], at: int) -> str:
    """The word of the clause of a place that is compared by equality, or set; empty for other
    places. After WHERE and its like, rows with this very value are selected."""
    operator = _operator(tokens, at)
    if operator is None or tokens[operator].low not in _EQUAL:
        return ""
    if tokens[operator - 1].low == "not":
        return ""
    depth = 0
    for back in range(operator - 1, -1, -1):
        token = tokens[back]
        # Closed brackets are skipped; those around the place are not there.
        depth = max(0, depth + (token.text == ")") - (token.text == "("))
        if depth == 0 and token.is_name and token.low in _FILTERS | _OTHERS:
            return token.low
    return ""


def _refused(tokens: Sequence[_Token], at: int, summary: Summary) -> str | None:
    """Why this place cannot take a made-up value."""
    if summary.kind == "unknown":
        return "its values are not in the log"
    if summary.kind in ("whole", "decimal") and _is_beyond(summary):
        return f"numbers beyond {END_MAX:,}: generators do not reach them"
    if summary.kind != "text":
        return None
    if not summary.is_quoted:
        return "a value in bits or in hexadecimal digits"
    if summary.text is not None and summary.text.is_document:
        return DOCUMENTS
    before = tokens[at - 1].low if at else ""
    if before == "(" and at > 1 and tokens[at - 2].low in ("any", "all", "some"):
        return "a list in one value: an array"
    if before in _STRUCTURE:
        return f"{QUESTION}: a path, an interval, a separator"
    if at + 2 < len(tokens) and tokens[at + 1].text == "::":
        kind = tokens[at + 2].low
        if kind not in _TEXT_TYPES or (
            kind == "uuid" and not (summary.text and summary.text.is_hex)
        ):
            return f"{QUESTION}: a value of a type with a form of its own"
    depth = 0
    for back in range(at - 1, 0, -1):
        text = tokens[back].text
        depth += (text == ")") - (text == "(")
        if depth < 0:
            if _STRUCTURE_CALLS.fullmatch(tokens[back - 1].text):
                return f"{QUESTION}: a format or a path"
            depth = 0
    return None


def _is_beyond(summary: Summary) -> bool:
    """Whether no number of the place can be made: of others the range is cut."""
    least, greatest = summary.least or 0.0, summary.greatest or 0.0
    return least >= END_MAX or greatest <= -END_MAX


def _bare(name: str) -> str:
    if name[:1] in '"`':
        return name[1:-1].replace(name[0] * 2, name[0])
    return name
