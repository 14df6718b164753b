"""Op, the one record of an operation, and the table of all ops."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial, wraps
from importlib import import_module
from typing import Any

import numpy as np

from gradcheck.autograd.dtype_sets import DtypeSet
from gradcheck.autograd.families import FAMILIES
from gradcheck.autograd.methods import offer
from gradcheck.autograd.modes import default_dtype, is_quiet
from gradcheck.autograd.numpy_errors import missing_feature, reworded
from gradcheck.autograd.promotion import ARRAYS, conversion, in_single, kinds_of, rounded_to
from gradcheck.autograd.signature import Parameter, Signature
from gradcheck.errors import ArgumentError, DomainError, DtypeMismatch, IndexOutOfRange, ShapeMismatch

#: `rule(cotangent, output, *arguments)` returns the cotangent of one argument. It is written in ops and operators
#: alone, so it returns arrays for arrays, tensors for tensors and formulas for formulas.
Rule = Callable[..., Any]

#: Types of most arguments that are no tensors, known not to handle ops themselves.
_WITHOUT_HANDLER = frozenset((np.ndarray, float, int, bool, str, tuple, list, slice, type(None)))
#: By the name or alias of an op, the module that defines it.
_HOMES = {name: f"gradcheck.autograd.ops.{family}" for family, names in FAMILIES.items() for name in names.split()}
for _name in _HOMES:
    offer(_name)


class _Table(dict[str, "Op"]):
    """All ops by name; a missing one is loaded with its family."""

    def __missing__(self, name: str) -> Op:
        found = lookup(name)
        if found is None or found.name != name:
            raise KeyError(name)
        return found


#: The ops by name: `matmul`, `linalg.inv`, …; a registry that loads them on first use.
TABLE: dict[str, Op] = _Table()
#: By alias, the name of the op in `TABLE`.
ALIASES: dict[str, str] = {}
#: By the exact type of an argument, a function that handles the call: `call(op, args, kwargs)`.
CALLS: dict[type, Callable[[Op, tuple[Any, ...], dict[str, Any]], Any]] = {}


@dataclass(frozen=True, slots=True)
class Documented:
    """The function that torch documents, where it computes another one."""

    arguments: dict[str, Any]  #: with which the op is that function, unless the caller gives them
    where: str  #: a condition on the op's arguments under which torch differs from it
    by: float  #: how far at most, in values and derivatives


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Op(Signature):
    """One operation on tensors.

    `forward` is plain NumPy, without branches on values. `rules` has a gradient rule, or None, for each leading
    parameter, in an elementwise op for each operand. An op without rules is a `composite`, or has no gradient.
    """

    forward: Callable[..., Any]
    rules: tuple[Rule | None, ...] = ()
    composite: bool = False
    #: It broadcasts and promotes dtypes; the sweep undoes broadcasting for such ops alone.
    elementwise: bool = False
    #: The ufunc that the forward is for two operands of one floating dtype; long graphs are made of these.
    ufunc: np.ufunc | None = None
    #: The first argument is a mask, which takes no part in promotion.
    masked: bool = False
    #: All tensors must have one dtype, as torch demands of matrix products.
    uniform: bool = False
    #: Integers become the default dtype first, as in `sin(1)` or `1 / 2`.
    floating: bool = False
    #: The kinds of numbers that an elementwise op takes, once promoted: booleans, integers, floats, complex ones.
    takes: str = "bifc"
    #: It takes no booleans, not even beside a float, like `sub`.
    numeric: bool = False
    #: A complex gradient is then `conj(rule(conj(cotangent), …))`; other rules handle complex numbers themselves.
    holomorphic: bool = True
    #: The forward is an analytic function of its tensors, and computes it for complex numbers too: a complex step is
    #: exact through it. Never where a part of a number, its size or its order decides, as in `abs`, `max` or `x > 0`.
    analytic: bool = False
    #: The first argument is a symmetric (Hermitian) matrix of which one triangle is read; so is its gradient.
    symmetric: bool = False
    #: The place of an argument that is a sequence of tensors (`cat`, `einsum`); its rule returns a list.
    sequence: int | None = None
    #: Dotted path of the counterpart below `torch`.
    torch: str = ""
    #: It is also a method, `x.sum()`.
    method: bool = True
    #: The ranges of elementwise arguments in tests: `((low, high), …)`.
    domain: tuple[tuple[float, float], ...] = ((-3.0, 3.0),)
    #: Calls in the case language that show and test an op whose arguments have structure.
    samples: tuple[str, ...] = ()
    #: The points without a derivative, in words: `0`, `ties`.
    kinks: str = ""
    doc: str = ""
    #: The forward rounds half precision itself, for instance because of its `dtype=`.
    rounds: bool = False
    #: Turns torch's result into the one chosen here, if several are right: signs of eigenvectors.
    choice: Callable[[Any], Any] | None = None
    #: Returns whether the rule is bounded at these arguments, as torch's is, and so not the derivative.
    bounded: Callable[..., bool] | None = None
    #: Returns the number of elements of the result, for ops whose result can be larger than the arguments.
    elements: Callable[..., int] | None = None
    #: By parameter, the dtypes that torch takes there: of a tensor, or as a `dtype=`. Others are not restricted here.
    dtypes: dict[str, DtypeSet] = field(default_factory=dict)
    #: What torch documents, if it only approximates that.
    documented: Documented | None = None
    #: LaTeX with a `#` for each operand, `# \le #`; or without any, the function's name: `\sigma`.
    latex: str = ""

    def __repr__(self) -> str:
        return f"<op {self.signature}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on plain arrays; let a tensor or a formula handle itself.

        Raises the errors of `gradcheck.errors` that say what does not fit: ArgumentError, DomainError, DtypeMismatch,
        IndexOutOfRange, ShapeMismatch.
        """
        for arg in args:
            if call := CALLS.get(type(arg)):
                return call(self, args, kwargs)
        return self.general(args, kwargs)

    def general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the op without the fast path, for any arguments."""
        bound = self.bind(args, kwargs)
        if self.composite:
            return self.forward(*bound)
        candidates = bound if self.sequence is None else (*bound, *self._tensor_list(bound[self.sequence]))
        for candidate in candidates:
            if type(candidate) not in _WITHOUT_HANDLER:
                handler = getattr(type(candidate), "__apply_op__", None)
                if handler is not None:
                    return handler(self, bound)
        return self.compute(bound)

    def _tensor_list(self, tensors: Any) -> Any:
        """Return a list of tensors. Raises ArgumentError for a single tensor."""
        if not isinstance(tensors, (list, tuple)):
            what = "one tensor" if hasattr(tensors, "dtype") else f"{tensors!r:.60}"
            raise ArgumentError(f"{self.name} takes a list of tensors, not {what}", hint=f"write {self.name}([x, y])")
        return tensors

    def compute(self, args: Sequence[Any]) -> Any:
        """Run the forward on plain arrays, with torch's dtype promotion."""
        try:
            if is_quiet():
                return self._computed(args)
            with np.errstate(all="ignore"):
                return self._computed(args)
        except np.linalg.LinAlgError as error:
            raise DomainError(f"{self.name}: {reworded(str(error))}") from error
        except IndexError as error:
            raise IndexOutOfRange(f"{self.name}: {reworded(str(error))}") from error
        except (ShapeMismatch, DtypeMismatch, DomainError, ArgumentError):
            raise
        except ValueError as error:
            raise ShapeMismatch(self.mismatch(args, error)) from error
        except (TypeError, OverflowError) as error:  # OverflowError: a number that the dtype cannot hold
            told = DtypeMismatch(f"{self.name}: {reworded(str(error))}")
            raise missing_feature(self.name, error) or told from error
        except AttributeError as error:
            if lack := missing_feature(self.name, error):
                raise lack from error
            raise
        except RuntimeError as error:
            if "dimensions" not in str(error):
                raise
            raise ShapeMismatch(f"{self.name}: {reworded(str(error))}") from error  # of more than 32, in NumPy

    def _computed(self, args: Sequence[Any]) -> Any:
        found = conversion(self, *kinds_of(args, self.sequence), default_dtype())
        if self.elementwise and found.dtype is None:
            raise ArgumentError(f"{self.name} takes tensors and numbers, not {args[int(self.masked)]!r:.60}")
        values = found.apply(args)
        if found.half is None:
            result = self.forward(*values)
            return result if isinstance(result, (np.ndarray, tuple)) else np.asanyarray(result)
        lists = [list(value) if place == self.sequence else value for place, value in enumerate(values)]
        return rounded_to(found.half, self.forward(*in_single(lists)))

    def mismatch(self, args: Sequence[Any], error: ValueError) -> str:
        """Return a message about shapes that do not fit, or NumPy's reworded."""
        shapes = [f"[{', '.join(map(str, arg.shape))}]" for arg in args if isinstance(arg, ARRAYS)]
        if len(shapes) > 1 and ("core dimension" in str(error) or "broadcast" in str(error)):
            verb = "do not broadcast" if self.elementwise else "do not go together"
            return f"{self.name}: shapes {', '.join(shapes[:-1])} and {shapes[-1]} {verb}"
        return f"{self.name}: {reworded(str(error))}"


def op(
    rules: Rule | tuple[Rule | None, ...] = (),
    /,
    *,
    name: str = "",
    aliases: tuple[str, ...] = (),
    samples: str = "",
    **traits: Any,
) -> Callable[[Callable[..., Any]], Op]:
    """Enter a NumPy function: `@op(lambda g, y, x: g.T, samples="t(x)")`.

    The function's signature and docstring are the op's; a lambda takes `name` and `doc`. `samples` are calls separated
    by semicolons. In these and in `torch`, `{}` stands for the op's name. A key of `dtypes` may list several
    parameters. `traits` are the other fields of `Op`.
    """

    def decorate(forward: Callable[..., Any]) -> Op:
        title = name or forward.__name__
        traits["torch"] = traits.get("torch", "{}").replace("{}", title)
        traits.setdefault("doc", inspect.cleandoc(forward.__doc__ or ""))
        traits["dtypes"] = {one: taken for names, taken in traits.get("dtypes", {}).items() for one in names.split()}
        calls = samples.replace("{}", title).split(";")
        parameters = _parameters(forward)
        entry = Op(
            name=title,
            forward=_positional(forward, parameters),
            parameters=parameters,
            rules=rules if isinstance(rules, tuple) else (rules,),
            samples=tuple(call.strip() for call in calls if call.strip()),
            **traits,
        )
        _register(entry, aliases)
        return entry

    return decorate


#: Enters an op that is written in other ops and needs no rule: `@composite(samples="…")`.
composite = partial(op, (), composite=True)
#: Enters an op that broadcasts and promotes dtypes, with a rule or None for each operand: `@elementwise(rule)`.
elementwise = partial(op, elementwise=True)
#: Enters an op that is linear in its tensors, and so analytic: `@linear(lambda g, y, x: g.T)`.
linear = partial(op, analytic=True)


def row(name: str, doc: str, forward: Callable[..., Any], rules: Any, **traits: Any) -> Op:
    """Enter a row: `row("exp", "The exponential.", np.exp, rule)`."""
    if isinstance(forward, np.ufunc):
        forward = _function_of(forward, _HOMES.get(name, __name__))
    return elementwise(rules, name=name, doc=doc, **traits)(forward)


def _function_of(ufunc: np.ufunc, module: str) -> Callable[..., Any]:
    """Return a function of one or two operands that calls a ufunc."""
    function = (lambda input: ufunc(input)) if ufunc.nin == 1 else (lambda input, other: ufunc(input, other))
    function.__module__ = module
    return function


def _positional(forward: Callable[..., Any], parameters: tuple[Parameter, ...]) -> Callable[..., Any]:
    """Let keyword-only parameters be passed by position, as ops do."""
    named = [p.name for p in parameters if p.keyword_only]
    if not named:
        return forward
    count = len(parameters) - len(named)

    @wraps(forward)
    def call(*args: Any) -> Any:
        return forward(*args[:count], **dict(zip(named, args[count:], strict=False)))

    return call


def _parameters(forward: Callable[..., Any]) -> tuple[Parameter, ...]:
    """Return the parameters, read off the code: `inspect` is too slow."""
    function: Any = inspect.unwrap(forward)
    code, keywords = function.__code__, function.__kwdefaults__ or {}
    names, count = code.co_varnames, code.co_argcount
    required = count - len(function.__defaults__ or ())
    positional = [Parameter(name) for name in names[:required]]
    positional += map(Parameter, names[required:count], function.__defaults__ or ())
    named = names[count : count + code.co_kwonlyargcount]
    return (*positional, *(Parameter(name, keywords.get(name, inspect.Parameter.empty), True) for name in named))


def _register(entry: Op, aliases: tuple[str, ...]) -> None:
    if entry.name in TABLE or entry.name in ALIASES:
        raise ValueError(f"the op {entry.name!r} is already in the table")
    TABLE[entry.name] = entry
    for alias in aliases:
        if alias in TABLE or ALIASES.setdefault(alias, entry.name) != entry.name:
            raise ValueError(f"the op name {alias!r} is already in the table")
    for name in (entry.name, *aliases):
        offer(name)


def lookup(name: str) -> Op | None:
    """Return the op of this name or alias, or None; load its family."""
    found = TABLE.get(name) or TABLE.get(ALIASES.get(name, ""))
    if found is None and name in _HOMES:
        import_module(_HOMES[name])
        return TABLE.get(name) or TABLE.get(ALIASES.get(name, ""))
    return found


def whole_table() -> dict[str, Op]:
    """Load all families, and return every op by name."""
    for module in dict.fromkeys(_HOMES.values()):
        import_module(module)
    return TABLE


def every_name() -> list[str]:
    """Return the names and aliases of all ops, loaded or not."""
    return list(dict.fromkeys((*_HOMES, *TABLE, *ALIASES)))
