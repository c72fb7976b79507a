import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.name import LONGEST, checked, generated
from agent_pty.errors import BadRequest

GOOD = ["a", "7", "work", "my-session_2.0", "A" * LONGEST, "a.b.c", "x-", "x.", "_x"]
BAD = [
    "",
    ".",
    "..",
    "a..b",
    ".hidden",
    "-rf",
    "a/b",
    "../../etc/passwd",
    "a b",
    "a\n",
    "a\0",
    "a\x1b[31m",
    "ü",
    "٣",
    "A" * (LONGEST + 1),
]


@pytest.mark.parametrize("name", GOOD)
def test_a_plain_name_is_a_name(name: str) -> None:
    """
    Letters, digits, dots, underscores and dashes, as they are.
    """
    assert checked(name) == name


@pytest.mark.parametrize("name", BAD)
def test_anything_else_is_refused(name: str) -> None:
    """
    What could be a path, an option or a control sequence is no name.
    """
    with pytest.raises(BadRequest, match="use 1 to 64 letters") as caught:
        checked(name)

    assert caught.value.details == {"field": "id"}


@given(name=st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,70}", fullmatch=True) | st.text())
def test_a_name_is_harmless_or_refused(name: str) -> None:
    """
    Whatever passes is safe in a path and on a command line; the message is plain ASCII.
    """
    begins = name[:1] == "_" or name[:1].isalnum()
    safe = name.isascii() and begins and ".." not in name and len(name) <= LONGEST

    if safe and (name.replace(".", "").replace("-", "").replace("_", "") or "x").isalnum():
        assert checked(name) == name
        return
    with pytest.raises(BadRequest) as caught:
        checked(name)

    assert str(caught.value).isascii()
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000


@given(taken=st.sets(st.integers(1, 30).map("s{}".format)))
def test_a_generated_name_is_the_first_that_is_free(taken: set[str]) -> None:
    """
    It is valid, not taken, and every shorter one is taken.
    """
    name = generated(taken)

    assert checked(name) == name
    assert name not in taken
    assert {f"s{number}" for number in range(1, int(name[1:]))} <= taken
