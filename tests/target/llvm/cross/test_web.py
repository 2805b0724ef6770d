"""Models as WebAssembly: in Node, and in a page of a browser."""

import functools
import http.server
import json
import re
import shutil
import subprocess
import threading

import numpy as np
import pytest

import relay
from relay.errors import RelayError, TargetError
from relay.testing import mlp, resnet, tree_lstm

LINKER = shutil.which("wasm-ld")
BROWSER = shutil.which("chromium")
needs_linker = pytest.mark.skipif(LINKER is None, reason="not installed: wasm-ld of Debian's lld")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="not installed: node")

CALL = """
import { load } from "./net/net.js";
import { readFileSync } from "node:fs";
const model = await load();
const data = readFileSync("input");
const given = new Float32Array(data.buffer, data.byteOffset, data.length / 4);
const results = [model.run(given), model.run(given)].map(([one]) => [...one]);
let message = "";
try { model.run(new Float32Array(3)); } catch (error) { message = error.message; }
console.log(JSON.stringify({ results, message, imports: 0 }));
"""


def in_node(folder, model, target="wasm32"):
    exe, here = relay.compile(*model, target=target), relay.compile(*model)
    exe.export(folder / "net", "folder")
    (x,) = here.example_inputs()
    x.tofile(folder / "input")
    (folder / "call.mjs").write_text(CALL)
    done = subprocess.run(
        ["node", "call.mjs"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), here(x)


@needs_linker
@needs_node
@pytest.mark.rotate(2)
@pytest.mark.parametrize("target", ["wasm32", "llvm -mtriple=wasm32-unknown-unknown"])
def test_a_module_runs_in_node(target, tmp_path):
    found, expected = in_node(tmp_path, mlp.get_workload(2), target)
    for result in found["results"]:
        np.testing.assert_allclose(np.reshape(result, expected.shape), expected, atol=1e-5)
    assert found["message"] == "data has 1568 elements, not 3"


@needs_linker
@needs_node
@pytest.mark.full
def test_a_network_of_images_runs_in_node(tmp_path):
    found, expected = in_node(tmp_path, resnet.get_workload(1, 10, 18, (3, 32, 32)))
    np.testing.assert_allclose(np.reshape(found["results"][0], expected.shape), expected, atol=1e-5)


@needs_linker
@needs_node
def test_state_stays_from_one_run_to_the_next(tmp_path):
    x, n = relay.var("x", shape=(3,)), relay.var("n", shape=(3,))
    total = x + n
    main = relay.Function([x, n], relay.Tuple([total * relay.const(2.0), total]))
    model = main.with_attr("State", ("n",)), {"n": np.ones(3, "float32")}
    exe = relay.compile(*model, target="wasm32")
    exe.export(tmp_path / "net", "folder")
    np.array([1, 2, 3], "float32").tofile(tmp_path / "input")
    (tmp_path / "call.mjs").write_text(CALL)
    done = subprocess.run(["node", "call.mjs"], cwd=tmp_path, capture_output=True, text=True)
    assert json.loads(done.stdout)["results"] == [[4, 6, 8], [6, 10, 14]]


@needs_linker
def test_the_command_writes_a_folder(tmp_path):
    from typer.testing import CliRunner

    from relay.cli.app import app

    mod, _ = mlp.get_workload(1)
    (tmp_path / "m.relay").write_text(str(mod))
    command = ["compile", str(tmp_path / "m.relay"), "--target", "wasm32"]
    done = CliRunner().invoke(app, [*command, "-o", str(tmp_path / "page")])
    assert done.exit_code == 0, done.output
    names = {path.name for path in (tmp_path / "page").iterdir()}
    assert names == {"page.wasm", "page.js", "index.html"}


def test_what_needs_memory_that_grows_is_refused(tmp_path):
    mod, params = tree_lstm.get_workload(4, 3)
    with pytest.raises(TargetError, match="straight-line code over tensors of known sizes"):
        relay.compile(mod, params, target="wasm32")


def test_without_a_linker_the_object_is_offered(tmp_path, monkeypatch):
    exe = relay.compile(*mlp.get_workload(1), target="wasm32")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RelayError, match='export kind="object"'):
        exe.export(tmp_path / "net", "folder")
    assert not (tmp_path / "net").exists()
    exe.export(tmp_path / "net.o")
    with pytest.raises(RelayError, match="no shared libraries"):
        exe.export(tmp_path / "net.so", "shared")


# --- the page -----------------------------------------------------------------------------------

AROUND = """
<!doctype html><body><iframe id="page" src="index.html"></iframe><script type="module">
const wait = (time) => new Promise((done) => setTimeout(done, time));
const page = document.getElementById("page");
const inside = () => page.contentDocument;
while (!inside()?.getElementById("picture") || inside().getElementById("picture").disabled)
  await wait(20);
const canvas = document.createElement("canvas");
[canvas.width, canvas.height] = [8, 8];
const context = canvas.getContext("2d");
context.fillStyle = "rgb(255, 102, 51)";
context.fillRect(0, 0, 8, 8);
const file = new File([await new Promise((done) => canvas.toBlob(done))], "picture.png");
const chosen = new DataTransfer();
chosen.items.add(file);
inside().getElementById("picture").files = chosen.files;
inside().getElementById("picture").dispatchEvent(new Event("change"));
while (!inside().body.dataset.done) await wait(20);
document.body.innerHTML = `<pre>${inside().getElementById("result").innerText}</pre>`;
</script></body>
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@needs_linker
@pytest.mark.skipif(BROWSER is None, reason="not installed: chromium")
def test_a_page_runs_the_model_on_a_picture(tmp_path):
    x = relay.var("x", shape=(1, 3, 4, 4))
    means = relay.mean(x, axis=[2, 3])
    exe = relay.compile(relay.IRModule.from_expr(relay.Function([x], means)), target="wasm32")
    exe.export(tmp_path / "net", "folder")
    (tmp_path / "net" / "around.html").write_text(AROUND)
    handler = functools.partial(Quiet, directory=str(tmp_path / "net"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{server.server_port}/around.html"
        command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
        command += ["--virtual-time-budget=60000", f"--user-data-dir={tmp_path / 'profile'}", place]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        server.shutdown()
    found = re.search(r"<pre>(.*?)</pre>", done.stdout, re.DOTALL)
    assert found is not None, done.stdout + done.stderr[-2000:]
    numbers = [float(word) for word in found[1].split()]
    assert numbers[::2] == [0, 1, 2]
    np.testing.assert_allclose(numbers[1::2], [1.0, 0.4, 0.2], atol=1e-5)
