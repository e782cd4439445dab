"""A private Redis: filled, stopped, started again, and asked what loading took."""
