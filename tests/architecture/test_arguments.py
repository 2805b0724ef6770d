"""A public function reads all its parameters: what it cannot serve, it refuses."""

import ast
import inspect
import textwrap

import relay
from relay import analysis, build_module, graph_executor, interpreter, nd, op, transform, vm

PUBLIC = (relay, analysis, build_module, graph_executor, interpreter, nd, op, op.nn, transform, vm)
# parameters that change nothing by what the function is about, and why
GIVEN = {
    "FunctionPass.transform_function.module": "by default a pass defines `rewrite(function)`",
    "FunctionPass.transform_function.context": "by default a pass defines `rewrite(function)`",
    "FoldConstantExpr.mod": "older programs give it; types are read where they stand",
    "all_type_vars.mod": "older programs give it",
    "bound_type_vars.mod": "older programs give it",
    "free_type_vars.mod": "older programs give it",
}


def functions():
    """Public functions, and methods of public classes that no base class declares, by name."""
    found = {}
    for module in PUBLIC:
        for name in getattr(module, "__all__", vars(module)):
            offered = getattr(module, name, None)
            if inspect.isclass(offered) and offered.__module__.startswith("relay."):
                for method, function in vars(offered).items():
                    declared = any(hasattr(base, method) for base in offered.__mro__[1:])
                    is_own = not declared and not method.startswith("__")
                    if inspect.isfunction(function) and (is_own or method == "__init__"):
                        found[function.__qualname__] = function
            elif inspect.isfunction(offered) and offered.__module__.startswith("relay."):
                found[offered.__qualname__] = offered
    return found


def unread(function):
    """The parameters that the body of a function does not mention; none where it does nothing."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except OSError:  # made by a decorator
        return []
    (tree,) = ast.parse(source).body
    if not isinstance(tree, ast.FunctionDef):
        return []
    body = tree.body[ast.get_docstring(tree) is not None :]
    if not body or isinstance(body[0], ast.Raise | ast.Pass) or _is_default(body[0]):
        return []
    read = {node.id for part in body for node in ast.walk(part) if isinstance(node, ast.Name)}
    own = {node.arg for node in ast.walk(tree.args) if isinstance(node, ast.arg)}
    return sorted(name for name in own - read - {"self", "cls"} if not name.startswith("_"))


def _is_default(statement):
    """`return None`, `return True`: what an overridable method does."""
    return isinstance(statement, ast.Return) and isinstance(statement.value, ast.Constant | None)


def test_public_functions_read_their_parameters():
    found = {f"{name}.{one}" for name, function in functions().items() for one in unread(function)}
    assert found == set(GIVEN)
