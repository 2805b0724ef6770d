"""Every element-wise reader of a wide conversion has one of its own."""

import pytest

import relay
from relay.transform import CanonicalizeCast, FuseOps, PassContext, Sequential
from tests.transform.rewriting import assert_rewrites, assert_stays, parse

PASS = CanonicalizeCast()
WIDE = 'cast(%i, dtype="int32")'


def test_a_shared_conversion_is_repeated():
    assert_rewrites(
        PASS,
        f"%0 = {WIDE}; (add(%0, 1), multiply(%0, 2))",
        f"(add({WIDE}, 1), multiply({WIDE}, 2))",
        rtol=None,
    )


def test_a_named_one_too():
    assert_rewrites(
        PASS,
        f"let %w = {WIDE}; let %a = add(%w, 1); let %b = multiply(%w, %k); (%a, %b)",
        f"let %w = {WIDE}; let %a = add({WIDE}, 1); let %b = multiply({WIDE}, %k); (%a, %b)",
    )


def test_one_reader_that_takes_it_twice_is_one_reader():
    assert_stays(PASS, f"%0 = {WIDE}; multiply(%0, %0)")
    assert_rewrites(
        PASS,
        f"%0 = {WIDE}; (multiply(%0, %0), add(%0, 1))",
        f"%0 = {WIDE}; (multiply(%0, %0), add({WIDE}, 1))",
    )


def test_readers_that_are_not_elementwise_share_what_is_left():
    assert_rewrites(
        PASS,
        f"%0 = {WIDE}; (add(%0, 1), sum(%0), max(%0))",
        f"%0 = {WIDE}; (add({WIDE}, 1), sum(%0), max(%0))",
    )


@pytest.mark.parametrize(
    "body",
    [
        f"add({WIDE}, 1)",
        '%0 = cast(%k, dtype="int8"); (add(%0, %i), multiply(%0, %i))',  # narrower
        '%0 = cast(%k, dtype="float32"); (exp(%0), tanh(%0))',  # as wide
        "%0 = abs(%i); (add(%0, %i), multiply(%0, %i))",
        f"%0 = {WIDE}; (sum(%0), max(%0))",
        f"%0 = {WIDE}; (add(%0, 1), fn () {{ add(%0, 2) }})",  # computed once, around the function
        f"let %w = {WIDE}; (add(%w, 1), fn () {{ add(%w, 2) }})",
    ],
)
def test_others_stay(body):
    assert_stays(PASS, body)


def test_inside_branches_and_functions():
    assert_rewrites(
        PASS,
        f"if (%c) {{ %0 = {WIDE}; subtract(add(%0, 1), multiply(%0, 2)) }} else {{ %k }}",
        f"if (%c) {{ subtract(add({WIDE}, 1), multiply({WIDE}, 2)) }} else {{ %k }}",
    )
    function = "fn (%z: Tensor[(4), int8]) {{ {} }}(%j)"
    wide = 'cast(%z, dtype="int32")'
    assert_rewrites(
        PASS,
        function.format(f"%0 = {wide}; subtract(add(%0, 1), multiply(%0, 2))"),
        function.format(f"subtract(add({wide}, 1), multiply({wide}, 2))"),
    )


def test_it_belongs_to_level_three():
    module = parse(f"%0 = {WIDE}; (add(%0, 1), multiply(%0, 2))")
    with PassContext(opt_level=2):
        assert Sequential([PASS])(module)["main"] is module["main"]
    with PassContext(opt_level=3):
        assert Sequential([PASS])(module)["main"] is not module["main"]


def test_what_is_fused_already_stays():
    module = FuseOps(fuse_opt_level=2)(parse(f"%0 = {WIDE}; add(add(%0, 1), multiply(%0, 2))"))
    assert PASS(module)["main"] is module["main"]
    primitive = module["main"].body.op
    assert PASS(relay.IRModule({"main": primitive}))["main"] is primitive


def test_narrow_tensors_are_kept_between_kernels():
    # without it, the wide conversion of the maximum would be one of the results
    source = """
        %0 = nn.max_pool2d(%x, pool_size=[2, 2]);
        %1 = cast(%0, dtype="float32");
        (nn.softmax(add(%1, 1f)), nn.softmax(multiply(%1, 2f)))
    """
    module = parse(source, "%x: Tensor[(1, 2, 4, 4), int8]")
    with PassContext(opt_level=3):
        fused = Sequential([PASS, FuseOps(fuse_opt_level=2)])(module)
    pools = [
        node
        for node in relay.tree.postorder(fused["main"].body)
        if isinstance(node, relay.Function) and "max_pool" in node.astext()
    ]
    assert [pool.ret_type.dtype for pool in pools] == ["int8"]
