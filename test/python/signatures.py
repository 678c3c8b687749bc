"""The stub says what the package has: the same names, parameters and defaults. Usage: signatures.py"""

import ast
import inspect
import os

import encode

with open(os.path.join(os.path.dirname(encode.__file__), "__init__.pyi"), encoding="utf-8") as file:
    stub = ast.parse(file.read())

checked = 0


def check(name, function, declared):
    """Compares parameters; a default of the stub is `...`."""
    global checked
    own = list(inspect.signature(function).parameters.values())
    wanted = declared.args.posonlyargs + declared.args.args
    names = [each.arg for each in wanted + declared.args.kwonlyargs]
    if name.endswith("__exit__"):
        return
    assert [each.name for each in own] == names, (name, own, names)
    optional = [each.default is not inspect.Parameter.empty for each in own]
    missing = len(wanted) - len(declared.args.defaults)
    said = [at >= missing for at in range(len(wanted))] + [each is not None for each in declared.args.kw_defaults]
    assert optional == said, (name, optional, said)
    checked += 1


public = set()
for node in stub.body:
    if isinstance(node, ast.ClassDef):
        public.add(node.name)
        made = getattr(encode, node.name, None) or getattr(__import__("encode.gather").gather, node.name)
        for each in node.body:
            if isinstance(each, ast.FunctionDef):
                member = inspect.getattr_static(made, each.name)
                is_plain = not each.name.startswith("_")
                assert member.__doc__ or not is_plain, f"{node.name}.{each.name} has no docstring"
                if isinstance(member, property):
                    assert any(isinstance(one, ast.Name) and one.id == "property" for one in each.decorator_list), each.name
                    continue
                check(f"{node.name}.{each.name}", member, each)
    elif isinstance(node, ast.FunctionDef):
        public.add(node.name)
        check(node.name, getattr(encode, node.name), node)
    elif isinstance(node, ast.ImportFrom) and node.level == 1:
        public.update(each.asname or each.name for each in node.names)
assert set(encode.__all__) - {"ENCODINGS"} <= public, set(encode.__all__) - public
print("ok", checked)
