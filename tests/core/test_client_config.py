import json
import tomllib

import pytest

from agent_pty.core.client_config import PLACES, merged
from agent_pty.errors import BadConfig

COMMAND = ["/opt/agent-pty", "mcp-stdio", "--tools", "pty"]


@pytest.mark.parametrize("client", ["claude", "cursor", "vscode"])
def test_what_else_a_file_has_stays(client: str) -> None:
    """
    Other servers, other keys, their order and the indentation are as before.
    """
    key = PLACES[client].key
    before = json.dumps({"b": 1, key: {"other": {"command": "x"}}, "a": "ü"}, indent=4)

    after = merged(before, client, COMMAND)

    found = json.loads(after)
    assert list(found) == ["b", key, "a"]
    assert found[key].pop("agent-pty")["args"] == COMMAND[1:]
    assert found == json.loads(before)
    assert "\n    " in after


@pytest.mark.parametrize("client", sorted(PLACES))
def test_a_file_is_made_and_a_second_time_changes_nothing(client: str) -> None:
    """
    An empty file gets what the client needs; asked again, it stays as it is.
    """
    first = merged("", client, COMMAND)

    assert merged(first, client, COMMAND) == first


def test_the_tables_of_codex_stay_as_they_were() -> None:
    """
    Comments, other tables and their order are kept; our own table is replaced.
    """
    before = '# mine\nmodel = "x"\n\n[mcp_servers.agent-pty]\ncommand = "old"\n\n[other]\na = 1\n'

    after = merged(before, "codex", COMMAND)

    assert after.startswith('# mine\nmodel = "x"\n')
    assert after.endswith("[other]\na = 1\n")
    assert tomllib.loads(after)["mcp_servers"]["agent-pty"]["command"] == COMMAND[0]


@pytest.mark.parametrize(
    ("client", "text"),
    [("vscode", '{ // a comment\n "servers": {} }'), ("codex", "a = "), ("claude", "[]")],
)
def test_what_cannot_be_read_is_not_changed(client: str, text: str) -> None:
    """
    A file that we do not understand is refused, and the remedy is named.
    """
    with pytest.raises(BadConfig):
        merged(text, client, COMMAND)
