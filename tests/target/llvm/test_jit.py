"""Object code as functions of this process: loaded, called, unloaded."""

import ctypes
import gc
import os
import sys
import threading

import pytest

from relay.errors import TargetError
from relay.target import Target
from relay.target.llvm.compile import compile_module
from relay.target.llvm.jit import load


def code(name, value):
    return compile_module([f"define i32 @{name}() {{ ret i32 {value} }}"], Target.host())


def call(library, name):
    return ctypes.CFUNCTYPE(ctypes.c_int32)(library.address(name))()


def test_functions_are_found_and_run():
    library = load(code("a", 1), ["a"])
    assert call(library, "a") == 1
    assert library.address("a") == library.address("a")


def test_several_objects_make_one_library():
    library = load([code("a", 1), code("b", 2), code("c", 3)], ["a", "b"])
    assert [call(library, name) for name in "abc"] == [1, 2, 3]


def test_the_same_names_in_two_libraries_are_different_functions():
    one, two = load(code("a", 1), ["a"]), load(code("a", 2), ["a"])
    assert (call(one, "a"), call(two, "a")) == (1, 2)


def test_a_function_asked_for_later_stays_valid():
    library = load(code("a", 1))
    address = library.address("a")
    gc.collect()
    assert library.address("a") == address
    assert call(library, "a") == 1


def test_functions_of_this_process_can_be_handed_in():
    text = "declare i32 @theirs()\ndefine i32 @ours() {\n  %x = call i32 @theirs()\n  ret i32 %x\n}"
    data = compile_module([text], Target.host(), imports=["theirs"])
    theirs = ctypes.CFUNCTYPE(ctypes.c_int32)(lambda: 7)
    address = ctypes.cast(theirs, ctypes.c_void_p).value
    library = load(data, ["ours"], {"theirs": address})
    assert call(library, "ours") == 7


@pytest.mark.parametrize("data", [b"", b"nonsense", code("a", 1)[:100]])
def test_what_is_no_object_is_refused(data):
    with pytest.raises(TargetError, match="cannot be loaded"):
        load(data, ["a"])


def test_an_object_for_another_machine_is_refused():
    with pytest.raises(TargetError, match="cannot be loaded"):
        load(compile_module(["define void @a() { ret void }"], Target.aarch64()), ["a"])


def test_a_function_that_is_not_there_is_named():
    with pytest.raises(TargetError, match="cannot be loaded") as error:
        load(code("a", 1), ["a", "b"])
    assert "b" in str(error.value)
    with pytest.raises(TargetError, match="no function `b`"):
        load(code("a", 1), ["a"]).address("b")


def test_many_threads_load_and_ask_at_once():
    data = code("a", 1)
    shared = load(data)
    failures = []

    def work():
        for _ in range(20):
            if call(load(data, ["a"]), "a") != 1 or call(shared, "a") != 1:
                failures.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_is_no_longer_used_is_unloaded():
    data = code("a", 1)

    def resident():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    for _ in range(50):
        call(load(data, ["a"]), "a")
    before = resident()
    for _ in range(300):
        call(load(data, ["a"]), "a")
    assert resident() - before < 2**21
