"""Names of metrics, numbers, escaping and sparklines."""
