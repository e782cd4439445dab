"""A model's answer as text, JSON, Markdown and HTML."""
