"""Transports: each turns bytes into requests and answers into bytes, and calls one `handle`."""
