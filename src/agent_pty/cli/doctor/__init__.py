"""`doctor`: find problems before they do harm."""
