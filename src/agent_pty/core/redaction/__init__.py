"""Find secrets in terminal text and put markers in their place. Pure."""
