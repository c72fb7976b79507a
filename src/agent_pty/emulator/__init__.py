"""The terminal emulator: the only place that knows libghostty."""
