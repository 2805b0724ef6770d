"""Kernels are labeled."""

import subprocess
import sys

import numpy as np

import relay
from relay import tree
from relay.transform import FuseOps, InferType, LabelOps

HEADER = '#[version = "0.0.5"]\n'
TEXT = """
def @main(%x: Tensor[(4, 4), float32], %y: Tensor[(4, 4), float32], %c: bool) {
  let %a = annotation.stop_fusion(nn.relu(nn.dense(%x, %y)));
  if (%c) { nn.relu(nn.dense(%a, %y)) } else { exp(%a) }
}
"""


def labeled(text=TEXT):
    after = LabelOps()(FuseOps()(relay.parse(HEADER + text)))
    again = LabelOps()(after)
    assert all(again[name] is function for name, function in after.functions.items())
    return after


def kernels(mod):
    nodes = (node for f in mod.functions.values() for node in tree.postorder(f))
    return [n for n in nodes if isinstance(n, relay.Function) and n.attrs.get("Primitive")]


def test_names_are_those_of_the_operators():
    names = sorted(kernel.attrs["name"] for kernel in kernels(labeled()))
    assert names == ["fused_exp", "fused_nn_dense_nn_relu", "fused_nn_dense_nn_relu"]


def test_kernels_that_are_the_same_have_one_hash():
    hashes = {}
    for kernel in kernels(labeled()):
        hashes.setdefault(kernel.attrs["name"], set()).add(kernel.attrs["hash"])
    assert [len(found) for found in hashes.values()] == [1, 1]
    assert hashes["fused_exp"] != hashes["fused_nn_dense_nn_relu"]
    wide = labeled(TEXT.replace("float32", "float64"))
    others = {kernel.attrs["hash"] for kernel in kernels(wide)}
    assert not others & set().union(*hashes.values())


def test_names_of_variables_make_no_difference():
    def of(name):
        p = relay.var(name, shape=(4,))
        kernel = relay.Function([p], relay.exp(p), attrs={"Primitive": 1})
        x = relay.var("x", shape=(4,))
        mod = LabelOps()(relay.IRModule.from_expr(relay.Function([x], kernel(x))))
        return kernels(mod)[0].attrs["hash"]

    assert of("p") == of("q")


def test_hashes_are_the_same_in_every_process():
    code = (
        "import relay, relay.transform as T\n"
        "x = relay.var('x', shape=(4,))\n"
        "mod = T.LabelOps()(T.FuseOps()(relay.IRModule.from_expr(relay.exp(x))))\n"
        "print(mod['main'].body.op.attrs['hash'])"
    )
    x = relay.var("x", shape=(4,))
    mod = LabelOps()(FuseOps()(relay.IRModule.from_expr(relay.exp(x))))
    other = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert other.stdout.strip() == mod["main"].body.op.attrs["hash"]


def test_a_program_without_kernels_stays():
    mod = InferType()(relay.parse(HEADER + TEXT))
    assert LabelOps()(mod)["main"] is mod["main"]


def test_long_names_end_somewhere():
    x = body = relay.var("x", shape=(4,))
    for _ in range(100):
        body = relay.negative(body)
    kernel = relay.Function([x], body, attrs={"Primitive": 1})
    y = relay.var("y", shape=(4,))
    mod = LabelOps()(relay.IRModule.from_expr(relay.Function([y], kernel(y))))
    assert len(kernels(mod)[0].attrs["name"]) <= 80


def test_labelled_programs_compile():
    x = np.ones((4, 4), "float32")
    mod = LabelOps()(FuseOps()(relay.parse(HEADER + TEXT)))
    np.testing.assert_allclose(relay.compile(mod)(x, x, False), np.exp(x @ x.T), 1e-6)
