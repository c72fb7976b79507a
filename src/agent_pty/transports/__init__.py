"""Transports turn bytes into a payload and back; each is handed `handle`."""
