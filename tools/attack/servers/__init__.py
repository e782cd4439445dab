"""Servers that are none: how they ask for passwords (`mysql`, `postgres`), and what they answer to
statements (`mysql_answers`, `postgres_answers`). Each way is a small function."""
