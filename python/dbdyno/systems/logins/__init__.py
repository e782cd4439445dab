"""Logins of control connections: what a server may ask for before it is trusted (`policy`), and the
two client libraries restricted to it (`mysql`, `postgres`)."""
