"""`doctor`: what could go wrong, found before it does."""
