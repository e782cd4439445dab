"""Combined runs as text, Markdown and one HTML page with a forest plot."""
