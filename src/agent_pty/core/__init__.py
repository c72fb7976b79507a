"""Pure rules: values in, values out. No I/O module, no clock, no randomness."""
