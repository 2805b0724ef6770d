"""Exported models under emulators of other machines: the results are those of this one."""

import numpy as np
import pytest

import relay
from relay.testing import mlp, mobilenet, resnet, tree_lstm
from tests.support.emulators import MACHINES, needs, run_model
from tests.target.llvm.c import test_program_library as programs

every_machine = pytest.mark.parametrize("name", MACHINES)


def close(found, expected):
    """As good as equal: floats may be added in another order."""
    for one, other in zip(found, expected, strict=True):
        scale = max(1.0, float(np.abs(np.asarray(other, np.float64)).max()))
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5 * scale)


def same_here_and_there(machine, model, folder):
    """Run straight-line code here and there."""
    here = relay.compile(*model)
    inputs = here.example_inputs()
    found = run_model(machine, relay.compile(*model, target=machine.target), folder, inputs)
    made = here(*inputs)
    return found, [np.asarray(one) for one in (made if isinstance(made, tuple) else (made,))]


@pytest.mark.rotate(len(MACHINES))
@every_machine
def test_a_network_gives_the_same(name, tmp_path):
    close(*same_here_and_there(needs(name), mlp.get_workload(2), tmp_path))


NETWORKS = {
    "resnet": lambda: resnet.get_workload(1, 10, 18, (3, 32, 32)),
    "mobilenet": lambda: mobilenet.get_workload(1, 10, (3, 32, 32)),
}


@pytest.mark.full
@every_machine
@pytest.mark.parametrize("network", NETWORKS)
def test_networks_of_images_give_the_same(network, name, tmp_path):
    close(*same_here_and_there(needs(name), NETWORKS[network](), tmp_path))


def quantized():
    """A small convolution network of bytes."""
    x = relay.var("x", shape=(1, 8, 12, 12), dtype="int8")
    w = relay.const(np.random.default_rng(0).integers(-128, 128, (16, 8, 3, 3)).astype("int8"))
    sums = relay.nn.conv2d(x, w, padding=(1, 1), channels=16, kernel_size=(3, 3), out_dtype="int32")
    small = relay.clip(relay.right_shift(sums, relay.const(7)), -128, 127)
    return relay.IRModule.from_expr(relay.Function([x], relay.cast(small, "int8"))), {}


@pytest.mark.rotate(len(MACHINES))
@every_machine
def test_integers_are_the_same_to_the_bit(name, tmp_path):
    machine, model = needs(name), quantized()
    given = np.random.default_rng(1).integers(-128, 128, (1, 8, 12, 12)).astype("int8")
    expected = relay.compile(*model)(given)
    (found,) = run_model(machine, relay.compile(*model, target=machine.target), tmp_path, [given])
    np.testing.assert_array_equal(found, expected)


# --- programs with recursion and data -----------------------------------------------------------


@pytest.mark.rotate(len(MACHINES))
@every_machine
def test_a_tree_lstm_runs_on_trees_that_c_built(name, tmp_path):
    machine = needs(name)
    model = tree_lstm.get_workload(programs.INPUTS, programs.HIDDEN)
    relay.compile(*model, target=machine.target).export(tmp_path / "tree.o")
    (tmp_path / "main.c").write_text(programs.TREE)
    machine.build(tmp_path, "-o", "main", "main.c", "tree.o")
    here, chance = relay.compile(*model), np.random.default_rng(7)
    for size in (1, 20):
        tree = programs.random_tree(chance, size)
        done = machine.run([tmp_path / "main"], input=programs.described(tree))
        assert done.returncode == 0, done.stdout
        expected = np.concatenate([part.ravel() for part in here(tree)])
        close([np.array(done.stdout.split(), np.float32)], [np.tile(expected, 2)])


@pytest.mark.rotate(len(MACHINES))
@every_machine
def test_all_kinds_of_values_go_in_and_come_out(name, tmp_path):
    from relay.parser import parse
    from relay.prelude import Prelude

    machine = needs(name)
    mod = parse(programs.SHAPES, "shapes.relay", Prelude().mod)
    relay.compile(mod, target=machine.target).export(tmp_path / "shapes.o")
    (tmp_path / "main.c").write_text(programs.VALUES)
    machine.build(tmp_path, "-o", "main", "main.c", "shapes.o", "-lm")
    done = machine.run([tmp_path / "main"])
    assert done.returncode == 0, done.stdout + done.stderr


RECURSION = """#[version = "0.0.5"]
def @ackermann(%m: int32, %n: int32) -> int32 {
  if (%m == 0) { %n + 1 } else {
    if (%n == 0) { @ackermann(%m - 1, 1) } else { @ackermann(%m - 1, @ackermann(%m, %n - 1)) }
  }
}
def @count(%n: int64, %sum: int64) -> int64 {
  if (%n <= 0i64) { %sum } else { @count(%n - 1i64, %sum + %n) }
}
def @deep(%n: int64) -> int64 { if (%n <= 0i64) { 0i64 } else { 1i64 + @deep(%n - 1i64) } }
def @twice(%f: fn(float64, int64, float32) -> (float64, int64, float32, bool), %a: float64,
           %b: int64, %c: float32) -> (float64, int64, float32, bool) {
  let %r = %f(%a, %b, %c);
  %f(%r.0, %r.1, %r.2)
}
def @main(%m: int32, %n: int64) -> (int32, int64, int64, (float64, int64, float32, bool)) {
  let %scale = cast(%n, dtype="float64");
  let %step = fn (%a: float64, %b: int64, %c: float32) {
    (%a * %scale, %b + %n, %c + 0.5f, %c > 1f)
  };
  (@ackermann(2, %m), @count(%n, 0i64), @deep(%n), @twice(%step, 1.5f64, 7i64, 1f))
}
"""
RECURSION_MAIN = """
#include <inttypes.h>
#include <stdio.h>
#include "deep.h"
int main(void) {
  deep *model;
  int32_t a; int64_t b, c, e; double d; float f; bool g;
  if (deep_create(&model, NULL, 0)) return 1;
  int status = deep_run(model, 5, 300000000, &a, &b, &c, &d, &e, &f, &g);
  if (status != DEEP_STACK_OVERFLOW) return 2;
  status = deep_run(model, 5, 10000, &a, &b, &c, &d, &e, &f, &g);
  if (status) return puts(deep_message(model)), 3;
  printf("%d %" PRId64 " %" PRId64 " %.17g %" PRId64 " %g %d\\n", a, b, c, d, e, f, g);
  deep_destroy(model);
  return 0;
}
"""


@pytest.mark.rotate(len(MACHINES))
@every_machine
def test_recursion_and_closures(name, tmp_path):
    """Deep recursion is an error, not a crash; tail calls need no stack."""
    machine = needs(name)
    mod = relay.parse(RECURSION)
    relay.compile(mod, target=machine.target).export(tmp_path / "deep.o")
    (tmp_path / "main.c").write_text(RECURSION_MAIN)
    machine.build(tmp_path, "-o", "main", "main.c", "deep.o")
    done = machine.run([tmp_path / "main"])
    assert done.returncode == 0, (done.returncode, done.stdout)
    a, b, c, (d, e, f, g) = relay.compile(mod)(5, 10000)
    numbers = [float(word) for word in done.stdout.split()]
    assert numbers == [float(np.asarray(one)) for one in (a, b, c, d, e, f, g)]
