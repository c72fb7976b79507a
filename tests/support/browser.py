"""A real headless browser, driven over its DevTools protocol."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect
from websockets.sync.connection import Connection

from support.agent import ended, eventually

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_SECONDS = 60


class Page:
    """One page: what it shows, what it asked for, what its scripts complained of."""

    def __init__(self, wire: Connection) -> None:
        self._wire = wire
        self._number = 0
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.dialogs: list[str] = []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.command(f"{domain}.enable")

    def command(self, method: str, **params: Any) -> Any:
        """Send a command and return its result; what happens meanwhile is noted."""
        self._number += 1
        self._wire.send(json.dumps({"id": self._number, "method": method, "params": params}))
        while True:
            message = json.loads(self._wire.recv(timeout=_SECONDS))
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]
            self._note(message)

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        match event.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(str(params["exceptionDetails"]))
            case "Log.entryAdded":
                self.complaints.append(str(params["entry"].get("text")))
            case "Page.javascriptDialogOpening":
                self.dialogs.append(params["message"])

    def open(self, path: str) -> None:
        """Open a file and return when all of it is there."""
        self.command("Page.navigate", url=Path(path).as_uri())
        eventually(lambda: self.value("document.readyState") == "complete")

    def value(self, expression: str) -> Any:
        """Return what an expression is; a promise is awaited."""
        found = self.command(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, expression: str) -> None:
        """Return when an expression is true."""
        eventually(lambda: bool(self.value(expression)))

    def size(self, *, width: int, height: int) -> None:
        """Give the window another size."""
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def colours(self, scheme: str) -> None:
        """Prefer `light` or `dark`."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.command("Emulation.setEmulatedMedia", features=features)

    def picture(self, path: Path) -> None:
        """Write a picture of the window."""
        shot = self.command("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))


@contextlib.contextmanager
def browsing() -> Iterator[Page]:
    """Start a browser without network and yield its page; end it with all its processes."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip("no chromium here: sh scripts/system-packages --for test")
    profile = Path(tempfile.mkdtemp(prefix="browser-"))
    browser = subprocess.Popen(
        [
            *(program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
            *("--remote-debugging-port=0", f"--user-data-dir={profile}", "--hide-scrollbars"),
            *("--disable-background-networking", "--disable-sync", "about:blank"),
        ],
        env={**os.environ, "HOME": str(profile)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        with connect(_page_of(profile), max_size=None, proxy=None) as wire:
            yield Page(wire)
    finally:
        os.killpg(browser.pid, signal.SIGKILL)
        browser.wait()
        ended(browser.pid)
        shutil.rmtree(profile, ignore_errors=True)


def _page_of(profile: Path) -> str:
    """Return the address at which the browser's page listens."""
    file = profile / "DevToolsActivePort"
    eventually(lambda: file.exists() and len(file.read_text().splitlines()) > 1)
    port = file.read_text().splitlines()[0]
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://127.0.0.1:{port}/json/list", timeout=_SECONDS) as answer:
        pages = json.load(answer)
    return str(next(one["webSocketDebuggerUrl"] for one in pages if one["type"] == "page"))
