"""Chromium without a window, driven over a pipe by its own protocol, which needs no package."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1400,900",
    "--remote-debugging-pipe",
)


class Browser:
    """One page in a browser of its own."""

    def __init__(self, profile: Path) -> None:
        commands, self._write = os.pipe()
        self._read, answers = os.pipe()

        def connected() -> None:  # it reads from 3 and writes to 4
            ends = os.dup(commands), os.dup(answers)
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = subprocess.Popen(
            [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=connected,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> Any:
        """The answer to a command."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            found = self._message()
            if found.get("id") == self._number:
                assert "error" not in found, found
                return found["result"]
            self.events.append(found)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            data = os.read(self._read, 1 << 20)
            assert data, "the browser has ended"
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(text)
        return found

    def open(self, address: str) -> None:
        """Go to a page, and wait until its graph is drawn."""
        self.send("Page.navigate", url=address)
        self.wait("document.body && document.body.dataset.ready")

    def run(self, script: str) -> Any:
        """The value of an expression of JavaScript."""
        found = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, script: str, seconds: float = 60) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.run(f"Boolean({script})"):
            assert time.monotonic() < end, f"waited in vain for {script}"
            time.sleep(0.02)

    def settle(self, script: str) -> None:
        """Run a script that changes the graph, and wait until the change is drawn."""
        self.run(script)
        self.wait("document.body.dataset.ready === String(graphView.request)")

    def press(self, key: str) -> None:
        """Press and release a key."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def click(self, selector: str, count: int = 1) -> None:
        """Click in the middle of an element."""
        place = self.run(
            f"(() => {{ const r = document.querySelector({json.dumps(selector)})"
            ".getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + Math.min(12, r.height / 2)]; })()"
        )
        where = {"x": place[0], "y": place[1], "button": "left", "buttons": 1}
        for number in range(1, count + 1):
            self.send("Input.dispatchMouseEvent", type="mousePressed", clickCount=number, **where)
            self.send("Input.dispatchMouseEvent", type="mouseReleased", clickCount=number, **where)

    def screenshot(self, path: Path) -> None:
        """Write what is seen to a file."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))

    @property
    def problems(self) -> list[str]:
        """Errors of scripts, and connections that the page tried to open."""
        found = []
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"]))
            elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
                found.append(params["entry"]["text"])
            elif method == "Network.requestWillBeSent":
                url = params["request"]["url"]
                if not url.startswith(("file:", "about:", "blob:", "data:")):
                    found.append(url)
        return found

    def close(self) -> None:
        """End the browser."""
        self.process.kill()
        self.process.wait()
        os.close(self._read)
        os.close(self._write)
