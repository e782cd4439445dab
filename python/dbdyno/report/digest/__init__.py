"""Digests for people: text, the classic layout of pt-query-digest, Markdown, HTML."""
