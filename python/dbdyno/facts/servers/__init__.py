"""Readers of running servers, reached by their URL. Every statement they send is listed."""
