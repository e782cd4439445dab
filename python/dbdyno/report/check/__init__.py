"""Findings of `dyno check`: text, JSON, Markdown, SARIF and a page, of the same words."""
