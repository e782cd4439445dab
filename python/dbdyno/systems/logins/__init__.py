"""Logins of control connections: what a server may ask of us before it is trusted (`policy`), and
the two client libraries held to it (`mysql`, `postgres`)."""
