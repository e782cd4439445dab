"""Sizes of windows that pages are tested in."""

from __future__ import annotations

DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
