"""Makes strangers' text harmless: control characters and bidirectional overrides (terminal escapes,
hidden text) are shown, not obeyed. Source: Unicode TR36."""

from __future__ import annotations

from markupsafe import Markup

_CONTROLS: dict[int, str] = {
    **{code: chr(0x2400 + code) for code in range(32) if code not in (9, 10)},
    0x7F: "␡",
    **dict.fromkeys(range(0x80, 0xA0), "�"),
    **dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F], "�"),
}


def visible(text: object) -> str:
    """Text with control characters and bidirectional overrides replaced by visible characters.

    Tab and newline stay. Safe markup stays markup.
    """
    if isinstance(text, Markup):
        return text
    return str(text).replace("\r\n", "\n").translate(_CONTROLS)
