"""HTML that is built by escaping everything: only elements made here are markup, text never is."""

from __future__ import annotations

from html import escape

from agent_pty.proof.shown_text import shown

_VOID = frozenset({"meta", "input", "br"})


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str | None) -> Html:
    """Return an element; children that are no `Html` are text, attributes that are None absent.

    >>> element("a", "<b>", href="#x", data_at="1")
    '<a href="#x" data-at="1">&lt;b&gt;</a>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(shown(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{joined(*children)}</{name}>")


def joined(*children: str) -> Html:
    """Return children one after the other."""
    return Html("".join(one if isinstance(one, Html) else text(one) for one in children))


def text(value: str) -> Html:
    """Return text as markup that shows it; controls and hidden characters are written out."""
    return Html(escape(shown(value), quote=False))


def raw_element(name: str, content: str, /, **attributes: str | None) -> Html:
    """Return a `script` or `style` of ours, whose content is no text of a record.

    Such content ends at the first `</`, so there must be none that closes it.
    """
    if f"</{name}" in content.lower():
        raise ValueError(f"the content of a {name} closes it")
    opening = element(name, **attributes).removesuffix(f"</{name}>")
    return Html(f"{opening}{content}</{name}>")
