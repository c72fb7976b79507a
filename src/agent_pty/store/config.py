"""Read `config.toml`."""

from __future__ import annotations

from agent_pty.core.config import Config, parsed
from agent_pty.core.layout import Layout
from agent_pty.errors import BadConfig


def load(layout: Layout) -> Config:
    """Return the settings of a home; the defaults if it has no file."""
    try:
        with open(layout.config, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BadConfig(f"cannot read {layout.config}: {why}", path=layout.config) from error
    return parsed(text, path=layout.config)
