"""Examines routers: sends statements through them, and reads in the servers' logs who ran them."""
