"""The page of `relay view`: one HTML file with its data, its scripts and nothing from elsewhere.

    text = page(collect(module, weights))

page.html       the skeleton, with a policy that forbids any connection
base.js         the data, helpers         graph.js    boxes, layout, moving around
details.js      a node, a kernel          passes.js   before and after a pass
charts.js       roofline, memory, flames  main.js     tabs, search, keys
worker.js       the layout, after dagre (`relay/viz/vendor/dagre`), in a worker
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any, Final

from relay.errors import RelayError

SCRIPTS: Final = ("base", "graph", "details", "passes", "charts", "main")
DAGRE: Final = "54a503e346f93ca0bb10abe7999587e037262935687aca45eb4e4b0f64bbb578"
MOST: Final = 20 * 2**20  # bytes of a page
# Inline scripts and a worker made of inline text, and no connection but to where the page is from.
POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; worker-src blob:; "
    "style-src 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)


def page(data: Mapping[str, Any]) -> str:
    """The page of what `relay.viz.collect` found."""
    parts = {
        "POLICY": POLICY,
        "TITLE": escape(str(data["title"])),
        "STYLE": _own("style.css"),
        "DATA": base64.b64encode(zlib.compress(json.dumps(data).encode(), 9)).decode(),
        "WORKER": _script(f"{dagre()}\n{_own('worker.js')}"),
        "SCRIPT": _script("\n".join(_own(f"{name}.js") for name in SCRIPTS)),
    }
    pieces = _own("page.html").split("@")  # names of parts are between two of them
    text = "".join(parts[piece] if i % 2 else piece for i, piece in enumerate(pieces))
    if len(text.encode()) > MOST:
        raise RelayError(
            f"the page would have {len(text) >> 20} MiB, and at most {MOST >> 20} are shown; "
            "a part of the model, or a lower --level, has less"
        )
    return text


def dagre() -> str:
    """The layout library, after a look at its digest."""
    data = files("relay.viz").joinpath("vendor/dagre/dagre.min.js").read_bytes()
    if hashlib.sha256(data).hexdigest() != DAGRE:
        raise RelayError("relay/viz/vendor/dagre/dagre.min.js is not the file that was vendored")
    return data.decode()


def _own(name: str) -> str:
    return files("relay.viz.page").joinpath(name).read_text(encoding="utf-8")


def _script(text: str) -> str:
    """A script as the content of an element, which ends at the first `</script`."""
    return text.replace("</script", "<\\/script").replace(
        "//# sourceMappingURL=dagre.min.js.map", ""
    )
