"""The keeper: it forks programs and hosts, holds every PTY master and reaps exit codes.

It uses only the standard library, one thread and one select loop. It never reads a byte from a
terminal, so no output of a program can crash it.
"""
