"""Ops that are classes: `Add.apply(a, b)`, `Add()(a, b)`, `Add()([a, b])`.

A node `Add(a, b)` may be a tensor itself. They are tried if nothing else has the op's name, and used only if the
result is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradcheck.autograd.op import Op
from gradcheck.engines.tensor_class.call_forms import (
    SHAPED,
    Arguments,
    CallForm,
    FormArgument,
    Library,
    names_of,
    settings_of,
)
from gradcheck.engines.tensor_class.wrapped_tensor import WrappedTensor

#: The usages of such a class, the likeliest first.
_USAGES = ("apply", "call", "list", "forward", "make")
#: Affixes of an op's name in the name of such a class.
_CLASS_NAME_AFFIXES = re.compile(
    r"^(tensor|op|scalar|matrix|element_?wise|ew)|(op|operation|function|fn|func|node|layer|gate)$"
)


def classes_in(library: Library) -> dict[str, list[str]]:
    """Return a library's classes by lower-case names, also without affixes."""
    found: dict[str, list[str]] = {}
    for module in library.modules:
        for name, value in list(vars(module).items()):
            if isinstance(value, type) and not issubclass(value, BaseException) and name[:1].isupper():
                plain = name.lower().replace("_", "")
                for word in dict.fromkeys((plain, _CLASS_NAME_AFFIXES.sub("", plain))):
                    if word and name not in found.setdefault(word, []):
                        found[word].append(name)
    return found


def object_forms(op: Op, bound: Arguments, classes: dict[str, list[str]]) -> Iterator[CallForm]:
    """Yield every form of such a class for an op, except ops in `SHAPED`."""
    if op.name in SHAPED or op.name in ("where", "getitem") or op.sequence is not None:
        return
    tensors = [i for i, value in enumerate(bound) if type(value) is WrappedTensor]
    numbers = (i for i, value in enumerate(bound) if type(value) in (int, float) and op.parameters[i].required)
    others = {*settings_of(op, bound), *numbers} - set(tensors)
    constructed = tuple(map(FormArgument, sorted(others)))
    given = tuple(FormArgument(i) for i in tensors)
    for name in dict.fromkeys(n for word in names_of(op) for n in classes.get(word.replace("_", ""), ())):
        for usage in _USAGES:
            yield CallForm("object", name, given, constructor_arguments=constructed, usage=usage)
