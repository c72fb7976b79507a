"""Vocabularies over ops: the words of `k` and `km`. Never a second engine."""
