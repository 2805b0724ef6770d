"""Executables as files: `exe.save("model.relayx")`, `relay.load(…)`; also for pickling.

The file is an uncompressed ZIP archive, so that weights are used in the mapped file:

    manifest.json          version, target, inputs and outputs, digests of the other members
    program.txt            the program (`relay.program.text`)
    code/0.o, …            its kernels
    code/program.o         its functions (only whole programs)
    code/runtime.o, …      the runtime of both (`Target.support`)
    constants.safetensors  the constants that kernels read: packed weights; if the executable was
                           made on another machine, the weights that they are computed from
    params.safetensors     the original weights (only `save(…, params=True)`)
    state.safetensors      the state (only where there is one), and its initial values
    initial.safetensors

Loading needs no compiler. Like a shared library, a file contains code that will run: load only
files you trust.
"""

from __future__ import annotations

import hashlib
import io
import json
import mmap
import os
import stat
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

import relay
from relay import dtypes
from relay.errors import RelayError
from relay.executors.convention import Convention
from relay.executors.executable import Code, Executable
from relay.executors.make import make_executable
from relay.executors.weights import constants_of_calls
from relay.files import as_path, replacing
from relay.program.native import NativeProgram, Site
from relay.program.program import MAIN, Program, ScalarSpec, Spec
from relay.program.text import parse, to_text
from relay.program.verify import verify as verify_program
from relay.safetensors import ALIGNMENT, save_param_dict, view_param_dict
from relay.target.kernel import TensorSpec
from relay.target.target import described

FORMAT: Final = "relay executable"
VERSION: Final = 5
MANIFEST: Final = "manifest.json"
PROGRAM: Final = "program.txt"
NATIVE: Final = "code/program.o"
SUPPORT: Final = "code/"  # prefix of the names of the runtime
CONSTANTS: Final = "constants.safetensors"
PARAMS: Final = "params.safetensors"
STATE: Final = "state.safetensors"
INITIAL: Final = "initial.safetensors"
# The digests of weights are checked on request: they are large, and damage in them is harmless.
DATA: Final = frozenset({CONSTANTS, PARAMS, STATE, INITIAL})

_LOCAL_HEADER: Final = struct.Struct("<26xHH")  # of a member: the lengths of name and extra field
_PADDING: Final = struct.Struct("<HH")  # an extra field: kind and length
_PADDING_KIND: Final = 0xD935


# --- saving --------------------------------------------------------------------------------------


def save(exe: Executable, path: str | os.PathLike[str], *, params: bool = False) -> None:
    """Write `exe` to `path` atomically."""
    members = _members(exe, params)
    with replacing(path, "the executable") as unfinished, open(unfinished, "xb") as file:
        _write(file, members)


def to_bytes(exe: Executable, *, params: bool = True) -> bytes:
    """What `save` writes."""
    file = io.BytesIO()
    _write(file, _members(exe, params))
    return file.getvalue()


def _members(exe: Executable, params: bool) -> dict[str, bytes]:
    """The files of the archive."""
    target = exe.code.target
    members: dict[str, bytes] = {PROGRAM: to_text(exe.program).encode()}
    for number, data in enumerate(exe.code.objects):
        members[f"code/{number}.o"] = data
    native = exe.code.program
    if native is not None:
        members[NATIVE] = native.code
    support = exe.code.support or target.support(native is not None)
    members |= {f"{SUPPORT}{name}": data for name, data in support.items()}
    members[CONSTANTS] = save_param_dict(exe.constants)
    if params:
        members[PARAMS] = save_param_dict(exe.params)
    if exe.program[MAIN].state:
        members[STATE] = save_param_dict(exe.state)
        members[INITIAL] = save_param_dict(exe.initial_state)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "relay": relay.__version__,
        "target": str(target),
        "inputs": [str(info) for info in exe.inputs],
        "outputs": [str(info) for info in exe.outputs],
        "code": len(exe.code.objects),
        "native": None if native is None else native.facts(),
        "prepared": exe.is_prepared,
        "convention": None if exe.convention is None else exe.convention.to_json(),
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    text = json.dumps(manifest, indent=2, ensure_ascii=False).encode()
    return {MANIFEST: text, **members}


def _write(file: IO[bytes], members: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            # a fixed time, so that equal executables give equal files
            member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            member.external_attr = 0o644 << 16
            if name in DATA:
                begin = file.tell() + _LOCAL_HEADER.size + len(name) + _PADDING.size
                space = -begin % ALIGNMENT
                member.extra = _PADDING.pack(_PADDING_KIND, space) + bytes(space)
            archive.writestr(member, data)


# --- loading -------------------------------------------------------------------------------------


def load(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes],
    *,
    threads: int | None = None,
    stack: int = 0,
    memory: int = 0,
    verify: bool = False,
) -> Executable:
    """The executable in a file that `Executable.save` wrote. It contains code, which will run.

    `source` is a path, bytes, or a binary file open for reading. `threads`, `stack` and `memory`
    are limits as for `relay.compile`. `verify` also checks the digests of weights; those of code
    are always checked.
    """
    return _load(source, {"threads": threads, "stack": stack, "memory": memory}, verify)


def load_pickled(data: bytes, options: dict[str, Any]) -> Executable:
    """Unpickle an executable (`Executable.__reduce__`)."""
    return _load(data, options)


def _load(source: Any, options: Mapping[str, Any], verify: bool = False) -> Executable:
    path = as_path(source) if isinstance(source, str | os.PathLike) else Path("bytes")
    try:
        content = _content(source)
        whole = memoryview(content).toreadonly()
        with zipfile.ZipFile(content) as archive:  # type: ignore[call-overload]
            members = {m.filename: _member(whole, m) for m in archive.infolist()}
    except (OSError, ValueError, zipfile.BadZipFile, struct.error) as error:
        raise _refusal(path, f"it cannot be read ({error})") from None
    manifest = _manifest(path, members)
    target = described(manifest["target"])
    target.require_here(f"`{path}`")
    names = [f"code/{number}.o" for number in range(manifest["code"])]
    more = [] if manifest["native"] is None else [NATIVE]
    support = [n for n in manifest["sha256"] if n.startswith(SUPPORT) and n not in (*names, NATIVE)]
    needed = [PROGRAM, CONSTANTS, *names, *more, *support]
    _check(path, members, manifest["sha256"], verify, needed)
    native: NativeProgram | None = None
    if more:
        native = NativeProgram.of_facts(bytes(members[NATIVE]), manifest["native"])
    program = parse(bytes(members[PROGRAM]).decode(), f"{path.name}/{PROGRAM}")
    verify_program(program)  # kernels do not check their arguments
    _check_native(path, program, native)
    constants = _tensors(path, members[CONSTANTS])
    weights = _tensors(path, members[PARAMS]) if PARAMS in members else {}
    is_prepared = manifest.get("prepared") is not False
    _check_constants(path, program, constants, is_prepared)
    initial, current = _state(path, program, members)
    prepared = None
    if is_prepared:
        prepared = {c.name: constants.pop(c.name) for c in program.constants if not c.is_given}
    objects = tuple(bytes(members[name]) for name in names)
    used = {name.removeprefix(SUPPORT): bytes(members[name]) for name in support}
    code = Code(target, objects, native, used)
    given = {**constants, **weights}
    convention = None
    if (found := manifest.get("convention")) is not None:
        try:
            convention = Convention.of_json(found)
        except RelayError as error:
            raise _refusal(path, str(error)) from None
    kept = {"prepared": prepared, "state": initial, "current": current}
    return make_executable(program, code, given, convention=convention, **kept, **options)  # type: ignore[arg-type]


def _content(source: Any) -> mmap.mmap:
    """A mapped file, or a page-aligned copy of bytes, so that kernels can read weights in it."""
    if isinstance(source, str | os.PathLike):
        if not stat.S_ISREG(os.stat(source).st_mode):  # to open a pipe may take for ever
            raise OSError("it is no file")
        with open(source, "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    data = source.read() if hasattr(source, "read") else source
    if not isinstance(data, bytes | bytearray | memoryview):
        raise RelayError(
            "an executable is loaded from a path, from bytes or from a file open for reading "
            f"bytes, found {type(source).__name__}"
        )
    content = mmap.mmap(-1, len(data := bytes(data)))
    content.write(data)
    return content


def _refusal(path: Path, reason: str, hint: str | None = None) -> RelayError:
    return RelayError(f"`{path}` is not loaded: {reason}" + (f"; {hint}" if hint else ""))


def _member(whole: memoryview, info: zipfile.ZipInfo) -> memoryview:
    """The bytes of a member, without a copy."""
    if info.compress_type != zipfile.ZIP_STORED:
        raise zipfile.BadZipFile(f"{info.filename} is compressed")
    name, extra = _LOCAL_HEADER.unpack_from(whole, info.header_offset)
    begin = info.header_offset + _LOCAL_HEADER.size + name + extra
    if begin + info.file_size > len(whole):
        raise zipfile.BadZipFile(f"{info.filename} is cut short")
    return whole[begin : begin + info.file_size]


def _manifest(path: Path, members: Mapping[str, memoryview]) -> dict[str, Any]:
    try:
        manifest = json.loads(bytes(members[MANIFEST]))
    except (KeyError, ValueError):
        raise _refusal(path, "it is no Relay executable") from None
    match manifest:
        case {"format": format, "version": int(version)} if format == FORMAT:
            pass
        case _:
            raise _refusal(path, "it is no Relay executable")
    if version != VERSION:
        hint = f"it was saved by relay {manifest.get('relay', '')}; save it again with this one"
        raise _refusal(path, f"its format is version {version}, this is version {VERSION}", hint)
    match manifest:
        case {
            "target": str(),
            "sha256": dict(),
            "code": int(count),
            "native": native,
        } if 0 <= count < 1 << 20 and _is_native(native):
            return manifest  # type: ignore[no-any-return]
    raise _refusal(path, f"its {MANIFEST} is not complete")


def _is_native(facts: Any) -> bool:
    """Whether these are valid facts of native code, or None."""
    match facts:
        case None:
            return True
        case {"entry": str(), "sites": [*sites], "constants": [*constants]}:
            return all(map(_is_site, sites)) and all(isinstance(name, str) for name in constants)
    return False


def _is_site(facts: Any) -> bool:
    names = {field.name for field in fields(Site)}
    return (
        isinstance(facts, dict)
        and facts.keys() == names
        and all(isinstance(text, str) for text in facts.values())
    )


def _check(
    path: Path,
    members: Mapping[str, memoryview],
    digests: Mapping[str, Any],
    verify: bool,
    needed: list[str],
) -> None:
    for name in needed:
        if name not in members:
            raise _refusal(path, f"{name} is missing")
    for name, data in members.items():
        if name == MANIFEST or (name in DATA and not verify):
            continue
        if hashlib.sha256(data).hexdigest() != digests.get(name):
            raise _refusal(path, f"{name} is damaged", "its digest is not that of the manifest")


def _check_native(path: Path, program: Program, native: NativeProgram | None) -> None:
    """Check the tables that native code refers to."""
    if (native is None) is not program[MAIN].is_straight_line:
        raise _refusal(path, "its code is not that of its program")
    if native is None:
        return
    known = constants_of_calls(program)
    for name in native.constants:
        if name not in known:
            raise _refusal(path, f"its code reads constant {name!r}, which its program does not")
    for site in native.sites:
        if site.kernel and site.kernel not in program.kernel_table:
            raise _refusal(path, f"its code calls kernel `{site.kernel}`, which is not there")


def _tensors(path: Path, data: memoryview) -> dict[str, np.ndarray]:
    try:
        return {name: tensor.array for name, tensor in view_param_dict(data).items()}
    except RelayError as error:
        raise _refusal(path, str(error)) from None


def _state(
    path: Path, program: Program, members: Mapping[str, memoryview]
) -> list[dict[str, np.ndarray]]:
    """The initial values of the state, and the present ones, whose sizes kernels rely on."""
    specs = program[MAIN].state_specs
    found: list[dict[str, np.ndarray]] = []
    for member in (INITIAL, STATE):
        if not specs:
            found.append({})
            continue
        if member not in members:
            raise _refusal(path, f"{member} is missing")
        found.append(_tensors(path, members[member]))
        for name, spec in specs.items():
            array = found[-1].get(name)
            if array is None or not _is_one(array, spec):
                raise _refusal(path, f"the state {name!r} is missing, or not what the program says")
    return found


def _is_one(array: np.ndarray, spec: Spec) -> bool:
    """Whether an array is a tensor of this type."""
    shape = spec.shape if isinstance(spec, TensorSpec) else ()
    assert isinstance(spec, TensorSpec | ScalarSpec)
    if len(shape) != array.ndim or array.dtype != dtypes.to_numpy(spec.dtype):
        return False
    return all(a == b or not isinstance(b, int) for a, b in zip(array.shape, shape, strict=True))


def _check_constants(
    path: Path, program: Program, found: Mapping[str, np.ndarray], prepared: bool
) -> None:
    """Check the constants, whose sizes kernels rely on; without those that are `prepared`, the
    weights that these are computed from."""
    table = program.constant_table
    needed = {c.name for c in program.constants if c.is_given}
    for name in {*(constants_of_calls(program) if prepared else needed), *found}:
        if name not in table or name not in found:
            raise _refusal(path, f"constant {name!r} is missing, or unknown")
        spec = table[name].spec
        if found[name].shape != spec.shape or found[name].dtype != dtypes.to_numpy(spec.dtype):
            raise _refusal(path, f"constant {name!r} is not what the program says")
