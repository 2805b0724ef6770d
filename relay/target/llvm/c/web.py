"""Models as WebAssembly: a module, a script that calls it, and a page that shows it.

    exe.export("net", "folder")

    net/net.wasm      the model: no imports, one thread, static memory
    net/net.js        `import { load } from "./net.js"`, for browsers and Node
    net/index.html    a page that runs the model on a picture

A browser loads them from a web server: `python -m http.server -d net`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from string import Template
from typing import Final

from relay.errors import RelayError
from relay.files import replacing
from relay.target.llvm.c.folder import make_folder
from relay.target.llvm.c.static import StaticLibrary, tensors_text

STACK: Final = 1 << 20  # bytes for local memory of kernels
_LINKERS: Final = ("wasm-ld", *(f"wasm-ld-{version}" for version in range(22, 13, -1)))


def write_web(path: Path, library: StaticLibrary) -> Path:
    """Write the folder; returns the path of the script."""
    linker = next(filter(None, map(shutil.which, _LINKERS)), None)
    if linker is None:
        raise RelayError(
            "a module of WebAssembly needs the linker wasm-ld, of LLVM's lld, and there is none "
            'here; export kind="object", and link that'
        )
    module = linked(library, linker)
    make_folder(path)
    tensors = {"inputs": tensors_text(library.inputs), "outputs": tensors_text(library.outputs)}
    names = {"name": library.name, "tensors": json.dumps(tensors, indent=2)}
    files = {
        f"{library.name}.wasm": module,
        f"{library.name}.js": _SCRIPT.substitute(names).encode(),
        "index.html": _PAGE.substitute(names).encode(),
    }
    for file, data in files.items():
        with replacing(path / file, "the model") as unfinished:
            unfinished.write_bytes(data)
    return path / f"{library.name}.js"


def linked(library: StaticLibrary, linker: str) -> bytes:
    """The module, linked."""
    with tempfile.TemporaryDirectory() as folder:
        made, result = Path(folder, "model.o"), Path(folder, "model.wasm")
        made.write_bytes(library.object(embed=True))
        exports = [f"--export={name}" for name in library.functions]
        options = ["--no-entry", "--stack-first", "-z", f"stack-size={STACK}", "--strip-all"]
        command = [linker, *options, *exports, "-o", str(result), str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RelayError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
        return result.read_bytes()


_SCRIPT: Final = Template("""\
// The model `$name`. In a browser, or in Node:
//
//   import { load } from "./$name.js";
//   const model = await load();
//   const [result] = model.run(data);        // typed arrays, one for each input and output

export const tensors = $tensors;

const KINDS = {
  float32: Float32Array, float64: Float64Array, int8: Int8Array, uint8: Uint8Array,
  bool: Uint8Array, int16: Int16Array, uint16: Uint16Array, float16: Uint16Array,
  bfloat16: Uint16Array, int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array,
  uint64: BigUint64Array,
};

async function bytes(place) {
  if (place.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return readFile(place);
  }
  const answer = await fetch(place);
  if (!answer.ok) throw new Error(`$${place}: $${answer.status} $${answer.statusText}`);
  return answer.arrayBuffer();
}

export async function load(place = new URL("$name.wasm", import.meta.url)) {
  const { instance } = await WebAssembly.instantiate(await bytes(place), {});
  const { memory, ${name}_input, ${name}_output, ${name}_call, ${name}_error } = instance.exports;

  function view(address, { shape, dtype }) {
    const count = shape.reduce((product, size) => product * size, 1);
    return new (KINDS[dtype] ?? Uint8Array)(memory.buffer, address, count);
  }

  function message(status) {
    const all = new Uint8Array(memory.buffer, ${name}_error(status));
    return new TextDecoder().decode(all.subarray(0, all.indexOf(0)));
  }

  function run(...data) {
    if (data.length !== tensors.inputs.length) {
      throw new Error(`the model takes $${tensors.inputs.length} tensors, not $${data.length}`);
    }
    tensors.inputs.forEach((info, i) => {
      const place = view(${name}_input(i), info);
      if (data[i].length !== place.length) {
        throw new Error(`$${info.name} has $${place.length} elements, not $${data[i].length}`);
      }
      place.set(data[i]);
    });
    const status = ${name}_call();
    if (status) throw new Error(message(status));
    return tensors.outputs.map((info, i) => view(${name}_output(i), info).slice());
  }

  return { run, tensors };
}
""")

_PAGE: Final = Template("""\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$name</title>
<style>
  body { font: 16px system-ui, sans-serif; margin: 2rem auto; max-width: 40rem; padding: 0 1rem; }
  canvas { border: 1px solid #ccc; display: block; margin: 1rem 0; max-width: 100%; }
  td { padding: 0.1rem 0.8rem 0.1rem 0; font-variant-numeric: tabular-nums; }
  label { margin-right: 1rem; }
  input[type=text] { width: 10rem; }
</style>
<h1>$name</h1>
<p id="about">Loading the model.</p>
<p>
  <label>Picture <input id="picture" type="file" accept="image/*" disabled></label>
</p>
<p>
  <label>Mean <input id="mean" type="text" value="0, 0, 0"></label>
  <label>Divisor <input id="scale" type="text" value="255, 255, 255"></label>
</p>
<canvas id="canvas" width="1" height="1"></canvas>
<p id="state"></p>
<table id="result"></table>
<script type="module">
import { load } from "./$name.js";

const find = (id) => document.getElementById(id);
const numbers = (text) => text.split(",").map(Number);

// Where the axes of a picture are: [batch, channels, height, width], or channels last.
function layout(shape) {
  const sizes = shape.length === 4 ? shape.slice(1) : shape;
  if (sizes.length === 2) return { height: sizes[0], width: sizes[1], channels: 1, last: true };
  const last = sizes.length === 3 && [1, 3, 4].includes(sizes[2]) && ![1, 3].includes(sizes[0]);
  const [channels, height, width] = last ? [sizes[2], sizes[0], sizes[1]] : sizes;
  return { height, width, channels, last };
}

// The elements of the input, from the pixels of the canvas.
function elements(pixels, { height, width, channels, last }) {
  const mean = numbers(find("mean").value), scale = numbers(find("scale").value);
  const made = new Float64Array(height * width * channels);
  for (let i = 0; i < height * width; i++) {
    const [red, green, blue] = pixels.subarray(4 * i, 4 * i + 3);
    const colors = channels === 1 ? [0.299 * red + 0.587 * green + 0.114 * blue]
                                  : [red, green, blue, 255];
    for (let c = 0; c < channels; c++) {
      const value = (colors[c] - (mean[c] ?? 0)) / (scale[c] ?? 1);
      made[last ? i * channels + c : c * height * width + i] = value;
    }
  }
  return made;
}

function show(values) {
  const order = [...values.keys()].sort((a, b) => Number(values[b]) - Number(values[a]));
  find("result").replaceChildren(...order.slice(0, 5).map((place) => {
    const row = document.createElement("tr");
    for (const text of [place, Number(values[place]).toPrecision(6)]) {
      row.appendChild(document.createElement("td")).textContent = text;
    }
    return row;
  }));
}

try {
  const model = await load();
  const [info] = model.tensors.inputs;
  const places = layout(info.shape);
  if (model.tensors.inputs.length !== 1 || !places.height || !places.width) {
    throw new Error("the model takes no single picture; the script runs it on other data");
  }
  const canvas = find("canvas");
  [canvas.width, canvas.height] = [places.width, places.height];
  find("about").textContent =
    `$${info.name}: $${info.dtype}[$${info.shape}], $${places.channels} colors`;
  find("picture").disabled = false;
  find("picture").addEventListener("change", async (event) => {
    const picture = await createImageBitmap(event.target.files[0]);
    const context = canvas.getContext("2d");
    context.drawImage(picture, 0, 0, places.width, places.height);
    const { data } = context.getImageData(0, 0, places.width, places.height);
    const start = performance.now();
    const [result] = model.run(elements(data, places));
    find("state").textContent = `$${(performance.now() - start).toFixed(1)} ms`;
    show(result);
    document.body.dataset.done = "yes";
  });
} catch (error) {
  find("state").textContent = error.message;
}
</script>
</html>
""")
