"""Charts over time or over runs."""
