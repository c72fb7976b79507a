"""What a line would run, and whether that needs an approval. Pure: text in, verdicts out."""
