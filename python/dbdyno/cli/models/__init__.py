"""`dyno model`: inputs from files and live servers."""
