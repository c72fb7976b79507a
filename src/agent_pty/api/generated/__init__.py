"""A typed method for every op, written from the op table by `make reference`; do not edit."""
