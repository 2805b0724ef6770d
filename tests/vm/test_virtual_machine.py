"""The surface people know: compile, invoke, set inputs, profile, save, load."""

import numpy as np
import pytest

import relay
from relay.errors import RelayError
from relay.vm import Executable, VirtualMachine, VMCompiler, load_library
from tests.vm.programs import DEEP, SCALE, SCALE_CODE

X = np.arange(6, dtype="float32").reshape(2, 3)
LOOP = """#[version = "0.0.5"]
def @loop(%n: int32, %x: Tensor[(2, 3), float32], %w: Tensor[(2, 3), float32]) {
  if (equal(%n, 0)) { (%x, %n) } else { @loop(subtract(%n, 1), multiply(%x, %w), %w) }
}
def @main(%n: int32, %x: Tensor[(2, 3), float32], %w: Tensor[(2, 3), float32]) {
  @loop(%n, %x, %w)
}
"""


@pytest.fixture(scope="module")
def halves():
    """Multiplies by the weight n times."""
    weights = {"w": np.full((2, 3), 0.5, "float32")}
    return relay.vm.compile(relay.fromtext(LOOP), "llvm", weights)


def test_a_module_is_compiled_and_run(halves):
    vm = VirtualMachine(halves, relay.cpu())
    x, n = vm.invoke("main", 3, X)
    np.testing.assert_array_equal(x.numpy(), X / 8)
    assert n.item() == 0
    x, _ = vm.run(x=X, n=1)
    np.testing.assert_array_equal(x.numpy(), X / 2)


def test_inputs_stay_set(halves):
    vm = VirtualMachine(halves)
    vm.set_input("main", 2, x=X)
    np.testing.assert_array_equal(vm.invoke("main")[0].numpy(), X / 4)
    vm.invoke_stateful("main")
    assert vm.get_num_outputs() == 2
    np.testing.assert_array_equal(vm.get_output(0).numpy(), X / 4)
    assert vm.get_outputs()[1].item() == 0
    assert vm.get_input_index("x") == 1
    assert vm.get_input_index("y") == -1
    with pytest.raises(RelayError, match="none of number 2"):
        vm.get_output(2)
    with pytest.raises(RelayError, match="before the first invoke_stateful"):
        VirtualMachine(halves).get_outputs()


def test_weights_can_be_changed(halves):
    code, lib = halves.save()
    exe = Executable.load_exec(code, lib)
    vm = VirtualMachine(exe)
    np.testing.assert_array_equal(vm.run(1, X)[0].numpy(), X / 2)
    exe.set_params(w=np.full((2, 3), 3, "float32"))
    np.testing.assert_array_equal(vm.run(1, X)[0].numpy(), 3 * X)
    assert exe.params["w"].numpy()[0, 0] == 3


def test_an_executable_is_saved_in_two_parts(halves, tmp_path):
    code, lib = halves.save()
    lib.export_library(tmp_path / "lib.so")
    loaded = Executable.load_exec(bytes(code), load_library(tmp_path / "lib.so"))
    assert loaded.bytecode == halves.bytecode
    np.testing.assert_array_equal(VirtualMachine(loaded).run(3, X)[0].numpy(), X / 8)
    assert loaded.save()[0] == code
    with pytest.raises(RelayError, match="no program of a virtual machine"):
        Executable.load_exec(b"nonsense", lib)
    with pytest.raises(RelayError, match=r"relay\.vm\.Library"):
        Executable.load_exec(code, None)
    (tmp_path / "none").write_bytes(b"")
    with pytest.raises(RelayError, match="no library of a virtual machine"):
        load_library(tmp_path / "none")
    with pytest.raises(RelayError, match="cannot be read"):
        load_library(tmp_path / "missing")


def test_an_executable_says_what_it_is_made_of(halves):
    assert halves.globals[0] == "main"
    assert halves.get_function_params("main") == ["n", "x"]
    assert "function @main" in halves.bytecode
    assert "functions (" in halves.stats and "TailCall" in halves.stats
    assert [name for name in halves.primitives if "multiply" in name]
    assert np.array_equal(halves.constants["w"].numpy(), np.full((2, 3), 0.5))


def test_the_steps_of_the_compiler():
    mod = relay.fromtext(LOOP)
    compiler = VMCompiler()
    with pytest.raises(RelayError, match=r"before lower\(\)"):
        compiler.get_exec()
    optimized, _ = compiler.optimize(mod, "llvm")
    assert "main" in optimized
    compiler.lower(mod, "llvm")
    compiler.codegen()
    w = np.full((2, 3), 2, "float32")
    x, _ = VirtualMachine(compiler.get_exec(), relay.cpu()).run(2, X, w)
    np.testing.assert_array_equal(x.numpy(), 4 * X)


def test_a_profile_counts_instructions_kernels_and_functions(machine):
    vm = machine(DEEP)
    profile = vm.profile(10)
    counts = {cost.name: cost.count for cost in profile.instructions}
    assert counts == {"Literal": 21, "Scalar": 31, "Branch": 11, "CallFunction": 10, "Return": 11}
    assert profile.count == sum(counts.values())
    (function,) = profile.functions
    assert (function.name, function.count) == ("@main", 11)
    assert profile.seconds == pytest.approx(function.seconds)
    vm = machine(SCALE, SCALE_CODE)
    profile = vm.profile(np.ones(3, "float32"), 2)
    (kernel,) = profile.kernels
    assert (kernel.name, kernel.count) == ("@scale", 1)
    text = str(profile)
    assert "instruction" in text and "@scale" in text and "share" in text


def test_calls_are_timed(machine):
    result = machine(DEEP).benchmark(relay.cpu(), 3, repeat=2, number=2, end_to_end=True)
    assert len(result.results) == 2 and result.mean > 0


def test_what_is_no_executable_is_refused(halves):
    with pytest.raises(RelayError, match="runs a relay"):
        VirtualMachine("main")
    with pytest.raises(RelayError, match="compiled for the CPU"):
        VirtualMachine(halves, relay.nd.Device("cuda"))
    with pytest.raises(RelayError, match="compiled for the CPU"):
        VirtualMachine(halves).benchmark(relay.nd.Device("cuda"))
    with pytest.raises(RelayError, match="memory_cfg"):
        VirtualMachine(halves, memory_cfg="pooled")
    with pytest.raises(RelayError, match="no function `@other`"):
        VirtualMachine(halves).invoke("other")
