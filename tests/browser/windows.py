"""Sizes of windows that pages are tested in, and how long they are waited for."""

from __future__ import annotations

DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
WAITS_MS = 120_000  # for a page, or for what comes of a click, on a busy machine
