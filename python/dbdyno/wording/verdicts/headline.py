"""A claim in its author's words, which nothing has checked: behind a verdict, or quoted."""

from __future__ import annotations


def sized(verdict: str, small: bool) -> str:
    """A verdict with what is known of the size of what it supports."""
    return f"{verdict}, but too small to matter" if small else verdict


def lead(verdict: str) -> str:
    """What stands before the words: `Refuted:`."""
    return f"{verdict[:1].upper()}{verdict[1:]}:"


def headline(verdict: str, say: str) -> str:
    """`Refuted: Switching the cache off helps`; empty without words."""
    return f"{lead(verdict)} {say}" if say else ""


def line(verdict: str, say: str, text: str) -> str:
    """The words behind the verdict, then the claim itself: `Refuted: WORDS (CLAIM)`; without words,
    the claim alone behind the verdict."""
    return f"{lead(verdict)} {say} ({text})" if say else f"{lead(verdict)} {text}"


def quoted(say: str, text: str) -> str:
    """The words, quoted, before the claim itself; that alone without words."""
    return f"“{say}” ({text})" if say else text
