"""Passes are found by the names of their files."""

import subprocess
import sys

import pytest

from relay import transform
from relay.transform import catalogue


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("FoldConstant", "fold_constant"),
        ("ToANormalForm", "to_a_normal_form"),
        ("CombineParallelConv2D", "combine_parallel_conv2d"),
        ("Conv2dToSparse2", "conv2d_to_sparse2"),
        ("PrintIR", "print_ir"),
        ("ToCPS", "to_cps"),
        ("SimplifyFCTranspose", "simplify_fc_transpose"),
        ("InferType", "infer_type"),
    ],
)
def test_a_class_is_found_in_the_file_called_after_it(name, file):
    assert catalogue.file_name(name) == file


def test_names_a_file_lists_are_found_as_well():
    assert catalogue.find("InferTypeLocal").__module__ == "relay.transform.infer_type"


def test_the_package_offers_passes_and_machinery():
    names = dir(transform)
    assert {"InferType", "InferTypeLocal", "PrintIR", "Sequential", "PassContext"} <= set(names)
    assert all(hasattr(transform, name) for name in transform.__all__)


def test_a_pass_that_is_not_there_is_no_attribute():
    with pytest.raises(AttributeError, match=r"'relay\.transform' has no attribute 'Nonsense'"):
        _ = transform.Nonsense
    with pytest.raises(AttributeError):
        _ = transform.infer_types


def test_no_exported_function_is_called_like_its_file():
    # the import system would put the module in its place
    eager = {"function_pass"}
    for name, file in catalogue.exports().items():
        assert name != file or name in eager


def test_passes_are_not_imported_before_they_are_asked_for():
    code = (
        "import sys, relay.transform\n"
        "assert 'relay.transform.debug.print_ir' not in sys.modules\n"
        "relay.transform.PrintIR\n"
        "assert 'relay.transform.debug.print_ir' in sys.modules\n"
        "assert 'relay.transform.debug.span_check' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
