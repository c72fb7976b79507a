"""The screen as a whole HTML document: what a browser would show of it, and would follow."""

from __future__ import annotations

from contextlib import closing
from html.parser import HTMLParser

import pytest

from agent_pty.emulator import Emulator
from agent_pty.emulator.html_document import html_document

RED, GREY, BLACK = "#d62c2c", "#d0d0d0", "#000000"


class Document(HTMLParser):
    """A document as a browser reads it: tags, and the style of each text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.source = text
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.styles: dict[str, dict[str, str]] = {}
        self.hrefs: dict[str, str | None] = {}
        self._open: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self._open.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Go back to the element around."""
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        """Note the style and the link of a text."""
        tag, given = self._open[-1] if self._open else ("", {})
        if tag == "a":
            self.hrefs[data] = given.get("href")
        self.styles[data] = _declared(given.get("style") or "")


def _declared(style: str) -> dict[str, str]:
    pairs = (one.split(":", 1) for one in style.split(";") if one.strip())
    return {name.strip(): value.strip() for name, value in pairs}


def shown(data: bytes, *, title: str = "work", scrollback: bool = False) -> Document:
    """Return the document of a small terminal after *data*."""
    with closing(Emulator(rows=6, cols=60)) as emulator:
        emulator.feed(data)
        return Document(html_document(emulator.format("html", scrollback=scrollback), title=title))


def link(uri: str) -> bytes:
    """Return the escape sequences of a link."""
    return f"\x1b]8;;{uri}\x1b\\here\x1b]8;;\x1b\\".encode(errors="surrogateescape")


@pytest.mark.parametrize(
    "uri",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "file:///etc/passwd",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "ssh://host",
        "//host/path",
        " https://host",
        "https:host",
        "https://host/\udcff",
        "x",
    ],
)
def test_trial_17_a_link_of_another_scheme_is_text(uri: str) -> None:
    """
    Only http, https and mailto can be followed; the words of the link stay.
    """
    document = shown(link(uri))

    assert document.hrefs == {"here": None}


@pytest.mark.parametrize("uri", ["http://host/?a=1&b=<2>\"'", "https://host/äÖ漢", "mailto:a@host"])
def test_trial_17_a_link_of_the_web_is_a_link(uri: str) -> None:
    """
    Its address is the one that the program gave, and it tells the other side nothing.
    """
    document = shown(link(uri))

    assert document.hrefs == {"here": uri}
    assert ("a", {"href": uri, "rel": "noopener noreferrer"}) in document.tags


def test_trial_17_a_document_is_whole() -> None:
    """
    It names its encoding, forbids everything but its own style, and has colours of its own.
    """
    document = shown("<script>é漢</script>".encode(), title="a<b")
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    names = [tag for tag, _ in document.tags]

    assert document.source.startswith("<!DOCTYPE html>")
    assert ("meta", {"charset": "utf-8"}) in document.tags
    assert ("meta", {"http-equiv": "Content-Security-Policy", "content": policy}) in document.tags
    assert "<title>a&lt;b</title>" in document.source
    assert f"background: {BLACK}; color: {GREY}" in document.source
    assert "<script>é漢</script>" in document.styles
    assert {"script", "link", "img"}.isdisjoint(names)
    assert names[0] == "html"


@pytest.mark.parametrize(
    ("written", "style"),
    [
        ("\x1b[31mx", {"color": RED}),
        ("\x1b[41mx", {"background-color": RED}),
        ("\x1b[38;5;196;48;2;1;2;3mx", {"color": "#ff0000", "background-color": "#010203"}),
        ("\x1b[7mx", {"color": BLACK, "background-color": GREY}),
        ("\x1b[7;31mx", {"color": BLACK, "background-color": RED}),
        ("\x1b[2mx", {"color": "#686868"}),
        ("\x1b[8;41mx", {"color": "transparent", "background-color": RED}),
        ("\x1b[1;3mx", {"font-weight": "bold", "font-style": "italic"}),
        ("\x1b[4;58;5;1mx", {"text-decoration-line": "underline", "text-decoration-color": RED}),
    ],
)
def test_trial_17_text_has_the_colours_of_the_screen(written: str, style: dict[str, str]) -> None:
    """
    Colours of the palette are numbers in the document, and reverse video exchanges them.
    """
    document = shown(written.encode())

    assert style.items() <= document.styles["x"].items()
    assert {"filter", "opacity", "visibility"}.isdisjoint(document.styles["x"])
    assert "var(" not in document.source


def test_trial_17_plain_text_needs_no_style() -> None:
    """
    Text without colours is not wrapped, and lines stay lines.
    """
    document = shown(b"one\r\ntwo\r\n", scrollback=True)

    assert "one\ntwo" in document.source
    assert "color" not in document.styles["one\ntwo"]
    assert document.styles["one\ntwo"]["white-space"] == "pre"
