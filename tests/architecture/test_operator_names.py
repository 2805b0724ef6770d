"""Passes read facts about operators in their records; only a pass about an operator names it.

An operator added from outside the package is optimized like ours as far as its record says what it
is. A list of names in a pass leaves it out.
"""

import ast
import re
from functools import cache
from pathlib import Path

import relay
from relay.ir.expr import op_names

ROOT = Path(relay.__file__).parent
PASSES = ("analysis", "transform")
MOST = 250

# The operators that each file names: a line for the file, and the names below it.
NAMED = """
analysis/fake_quantized_ops.py
    qnn.dequantize qnn.quantize
analysis/fc_transpose.py
    nn.dense transpose
analysis/mac_count.py
    nn.batch_matmul nn.contrib_conv2d_NCHWc nn.contrib_depthwise_conv2d_NCHWc nn.conv1d
    nn.conv1d_transpose nn.conv2d nn.conv2d_transpose nn.conv3d nn.conv3d_transpose nn.dense
    nn.matmul
analysis/provable_sign.py
    multiply
analysis/purity.py
    memory.kill vm.invoke_tvm_op
analysis/shape_values.py
    add cast multiply subtract
analysis/sparse_conv2d.py
    nn.conv2d
analysis/sparse_dense.py
    nn.dense
analysis/value_ranges.py
    cast clip nn.relu
transform/debug/check_indices.py
    negative
transform/functional/monomorphize.py
    any
transform/fusion/combine_parallel_batch_matmul.py
    nn.batch_matmul
transform/fusion/combine_parallel_conv2d.py
    nn.conv2d
transform/fusion/combine_parallel_dense.py
    nn.bias_add nn.dense nn.prelu reshape
transform/fusion/fuse_ops.py
    annotation.stop_fusion
transform/fusion/fusion_anchors.py
    split
transform/fusion/parallel_branches.py
    nn.bias_add nn.prelu
transform/fusion/recognize_attention.py
    add cast divide exp expand_dims max multiply nn.batch_matmul nn.fast_softmax nn.softmax reshape
    squeeze subtract sum where
transform/fusion/split_args.py
    concatenate stack
transform/gradients/accumulate.py
    add ones_like zeros_like
transform/gradients/collect_outer_products.py
    add concatenate nn.matmul zeros
transform/gradients/custom_rules.py
    add zeros_like
transform/gradients/dual_data.py
    add ones_like zeros_like
transform/gradients/dual_functions.py
    add zeros_like
transform/gradients/lazy_gradient_init.py
    add zeros zeros_like
transform/layout/layout_spelling.py
    nn.batch_norm
transform/memory/manifest_lifetimes.py
    memory.alloc_tensor memory.kill vm.reshape_tensor
transform/memory/memory_plan.py
    memory.alloc_storage memory.alloc_tensor memory.kill
transform/memory/shape_functions.py
    max min
transform/precision/recast_layers.py
    nn.conv2d
transform/quantized/fake_quantization_to_integer.py
    qnn.dequantize qnn.quantize
transform/quantized/qnn_canonicalize.py
    qnn.batch_matmul qnn.conv2d qnn.conv2d_transpose qnn.dense
transform/quantized/quantized_identities.py
    argmax argmin argsort qnn.dequantize
transform/quantized/quantized_products.py
    add nn.batch_matmul nn.bias_add nn.conv1d nn.conv2d nn.conv2d_transpose nn.dense nn.matmul
transform/quantized/quantized_steps.py
    clip concatenate dyn.topk image.resize2d maximum mean minimum multiply nn.avg_pool2d
    nn.global_avg_pool2d nn.leaky_relu nn.pad nn.relu nn.softmax qnn.quantize split topk transpose
transform/quantized/quantized_values.py
    clip qnn.dequantize
transform/scales/axis_moves.py
    broadcast_to layout_transform nn.mirror_pad nn.pad strided_slice transpose
transform/scales/backward_fold_scale_axis.py
    add concatenate divide maximum minimum multiply nn.bias_add subtract where
transform/scales/forward_fold_scale_axis.py
    add divide maximum minimum multiply nn.bias_add subtract
transform/scales/scales.py
    divide expand_dims multiply reshape
transform/scales/weight_axes.py
    nn.batch_matmul nn.conv1d nn.conv1d_transpose nn.conv2d nn.conv2d_transpose nn.conv3d
    nn.conv3d_transpose nn.dense nn.matmul
transform/simplify/binomials.py
    add multiply subtract
transform/simplify/canonicalize_ops.py
    nn.bias_add
transform/simplify/concrete_forms.py
    broadcast_to_like cast_like collapse_sum_like full_like ones_like reshape_like slice_like
    zeros_like
transform/simplify/constant_terms.py
    add divide multiply subtract
transform/simplify/conversion_identities.py
    cast clip nn.relu reinterpret
transform/simplify/div_to_mul.py
    divide
transform/simplify/element_identities.py
    add copy divide maximum minimum negative power reverse sqrt subtract where
transform/simplify/flatten_atrous_conv.py
    nn.batch_to_space_nd nn.conv1d nn.conv2d nn.conv3d nn.space_to_batch_nd
transform/simplify/fold_constant.py
    ndarray_size shape_of vm.shape_of
transform/simplify/fold_explicit_padding.py
    nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d nn.contrib_conv2d_NCHWc
    nn.contrib_depthwise_conv2d_NCHWc nn.conv1d nn.conv2d nn.conv3d nn.max_pool1d nn.max_pool2d
    nn.max_pool3d nn.pad qnn.conv2d
transform/simplify/part_identities.py
    concatenate nn.mirror_pad nn.pad split strided_slice
transform/simplify/shape_identities.py
    broadcast_to expand_dims layout_transform repeat squeeze tile transpose
transform/simplify/simplify_inference.py
    nn.batch_norm nn.dropout nn.group_norm nn.instance_norm nn.l2_normalize nn.layer_norm
transform/simplify/uniform_operands.py
    full ones zeros
"""


@cache
def operators() -> tuple[str, ...]:
    return tuple(op_names())


def names_in(node: ast.AST) -> set[str]:
    """The operators that a string is the name of; of f"nn.conv{n}d" all that it may be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return {node.value} & set(operators())
    if not isinstance(node, ast.JoinedStr):
        return set()
    fixed = [part.value if isinstance(part, ast.Constant) else None for part in node.values]
    families = {name.partition(".")[0] for name in operators() if "." in name}
    if fixed[0] is None or fixed[0].partition(".")[0] not in families:
        return set()
    text = "".join(r"\w+" if part is None else re.escape(part) for part in fixed)
    return {name for name in operators() if re.fullmatch(text, name)}


def named_by(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return set().union(*map(names_in, nodes))


@cache
def found() -> dict[str, set[str]]:
    paths = (path for part in PASSES for path in (ROOT / part).rglob("*.py"))
    all_names = {path.relative_to(ROOT).as_posix(): named_by(path) for path in paths}
    return {file: names for file, names in all_names.items() if names}


def listed() -> dict[str, set[str]]:
    entries = re.findall(r"^(\S+)\n((?: .*\n)+)", NAMED, re.MULTILINE)
    return {file: set(names.split()) for file, names in entries}


def test_no_pass_names_an_operator_that_it_did_not_name_before():
    for file, names in found().items():
        new = names - listed().get(file, set())
        assert not new, (
            f"relay/{file} names {', '.join(sorted(new))}: state the fact in the record of the "
            "operator (relay/op/facts.py) and read it there, or enter the name in NAMED if the "
            "pass is about this operator"
        )


def test_the_list_of_names_is_short_and_up_to_date():
    known = {(file, name) for file, names in listed().items() for name in names}
    gone = known - {(file, name) for file, names in found().items() for name in names}
    assert not gone, f"take these out of NAMED: {sorted(gone)}"
    assert len(known) <= MOST
