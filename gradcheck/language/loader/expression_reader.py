"""Expressions of a case: parsed, and checked for their names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from gradcheck.autograd.op import lookup
from gradcheck.errors import Hint, InvalidCase, Place, TensorError
from gradcheck.language.case import Claim
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.call_parser import NoSuchOp
from gradcheck.language.expr.named_results import NoSuchResult
from gradcheck.language.expr.nodes import Attribute, Call, Derivative, Expr, Literal, Name
from gradcheck.language.expr.notation_mistakes import find_notation_mistake
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.syntax import Unbalanced
from gradcheck.language.expr.torch_names import LIBRARIES, USAGE_HINTS, constant
from gradcheck.language.expr.traverse import distinct_nodes, replace_part
from gradcheck.language.loader.name_scope import (
    MOST_COMPARED,
    MOST_HINTS,
    SECTION_KINDS,
    NameScope,
    known_names_hint,
    tensor_of_gradient_name,
)
from gradcheck.language.loader.parsed_expression import (
    ParsedExpression,
    oversized_creators,
    parse_cached,
    partial_arithmetic,
    resolve_named_results,
)
from gradcheck.language.loader.yaml_document import BROKEN, Path, describe, path_text
from gradcheck.language.random_streams import RANDOM_OPS
from gradcheck.language.suggest import nearest

_FLOW_HINT = 'in YAML\'s flow style a comma ends the entry, so an expression there needs quotes: {z: "randn(n, m)"}'
Names: TypeAlias = Collection[str]

#: Sections of tensors; each entry may use those above it.
TENSORS = frozenset({"inputs", "constants", "graph", "let"})


class ExpressionReader:
    """Reads the expressions of one case; mistakes are errors of its `scope`.

    `elements` is the most that a tensor may have.
    """

    def __init__(self, scope: NameScope, elements: int) -> None:
        self.scope, self.elements = scope, elements
        self.document = scope.document

    def read(
        self, path: Path, data: Any, names: Names, *, gradients: bool = False, random: bool = False
    ) -> Claim | None:
        """Return the expression at `path` over these names; None after an error."""
        if data is BROKEN:
            return None
        if not isinstance(data, (str, bool, int, float)):
            what = "has no value" if data is None else f"takes an expression, not {describe(data)}"
            hint = "write one, such as x * 2" if data is None else "an expression that begins with [ or { needs quotes"
            self.scope.add_error(f"{path_text(path)} {what}", path, hint, key=data is None)
            return None
        text = str(data)  # YAML takes `1` and `true` for more than text
        try:
            read = parse_cached(text)
        except InvalidCase as error:
            place = self.document.locate(path, text, error.place.column - 1)
            cut = isinstance(error, Unbalanced) and self.document.is_cut(path, text)
            hint = error.hint
            name = text[error.place.column - 1 :].partition("(")[0].strip()
            if isinstance(error, NoSuchOp) and self.scope.defined.get(name) in TENSORS:
                message = f"'{name}' is a tensor, and is not called"
                self.scope.add_error(message, place, f"write {name}[0], or {name} * x")
                return None
            if isinstance(hint, Hint) and hint.place:
                hint = Hint(hint, hint.old, hint.new, self.document.locate(path, text, hint.place.column - 1))
            self.scope.add_error(error.message, place, _FLOW_HINT if cut else hint)
            return None
        site = _Site(self, path, text, gradients)
        good = [name in names or site.resolves(name, at, names) for name, at in read.mentions.names.items()]
        good += [site.has_gradient(name, at) for name, at in read.mentions.gradients.items()]
        good += [site.has_derivative(one, at) for one, at in read.mentions.derivatives.items()]
        random_ops = [] if random else [pair for pair in read.mentions.ops.items() if pair[0] in RANDOM_OPS]
        good += [site.report_random_op(name, at) for name, at in random_ops]
        good.append(not read.creators or site.are_affordable(read))
        good.append(not gradients or "gradient" not in read.mentions.ops or site.is_qualified_gradient())
        good += [site.has_tensor_operands(call) for call in read.extremes]
        if read.has_arithmetic and not str(path[0]).startswith("wrong_"):
            good += [site.has_value(call) for call in partial_arithmetic(read.expr, self.scope.sizes)]
        expr: Expr | None = read.expr
        if read.parts:
            expr = resolve_named_results(read, self.scope, site.report_missing_result)
        if expr is None or not all(good):
            return None
        return Claim(text, expr, self.document.text_place(path), self.document.is_verbatim(path, text))


#: Other names for the incoming gradient.
_INCOMING = frozenset(["grad_output", "grad_out", "dout", "upstream", "upstream_grad", "gout", "g", "dL", "incoming"])
#: The op `gradient`, which may be meant as `grad`.
_BARE_GRADIENT = re.compile(r"(?<![.\w])gradient\s*\(")
#: The text before the name in grad(name).
_GRAD = re.compile(r"(?:torch\.)?grad\s*\(\s*")


class _Site(NamedTuple):
    """Checks of an expression's mentions; each False has its error."""

    expressions: ExpressionReader
    path: Path
    text: str
    gradients: bool = False  # it may use grad(…)

    @property
    def scope(self) -> NameScope:
        return self.expressions.scope

    def place(self, at: int) -> Place:
        return self.scope.document.locate(self.path, self.text, at)

    def resolves(self, name: str, at: int, names: Names) -> bool:
        """Return whether a name outside `names` is a word of the language."""
        scope, path = self.scope, self.path
        section = scope.defined.get(name)
        if section is None and (constant(name) is not None or name in scope.possibly_defined):
            return True
        place = self.place(at)
        if section is None and not self.text.isascii() and (slip := find_notation_mistake(self.text)):
            scope.add_error(slip.message, self.place(slip.at), slip.hint)
        elif section is None:
            self._unknown(name, place, names)
        elif path == (section, name):
            hint = "a graph has no cycles; give the result a name of its own"
            scope.add_error(f"'{name}' is used in its own definition", place, hint)
        elif path[0] in TENSORS and section in (path[0], "inputs", "constants"):
            hint = self._cycle(str(path[1]), name) or "a line may use the names above it; move it up"
            scope.add_error(f"'{name}' is defined below, on line {scope.line(name)}", place, hint)
        else:
            message = f"'{name}' is {SECTION_KINDS[section]}, which is not known here"
            scope.add_error(message, place, known_names_hint(self._visible(names)))
        return False

    def _unknown(self, name: str, place: Place, names: Names) -> None:
        """Add the error of an unknown name, with a hint if one is likely."""
        scope = self.scope
        if name in scope.missing:
            return
        if len(scope.errors) + len(scope.missing) >= MOST_HINTS:
            scope.add_error(f"the name '{name}' is unknown", place)
            return
        visible = self._visible(names)
        if name == "end" and (to := re.search(r":\s*end\b", self.text)):
            without = Hint("a slice to the end ends with its colon: x[1:]", to[0], ":")
            scope.add_error("'end' is not part of the language", place, without)
            return
        sized = distinct_nodes(*(part for call in parse_cached(self.text).creators for part in call.children))
        if not nearest(name, visible) and any(isinstance(part, Name) and part.name == name for part in sized):
            scope.add_missing_size(name, place)
            return
        quotient = re.search(rf"\b{re.escape(name)}\s*/\s*d_?(\w+)", self.text)
        if re.search(rf"\bd\w*\s*/\s*{re.escape(name)}\b", self.text):
            return  # the denominator of dL/dx, which is reported with the numerator
        differentiable = [one for one, section in scope.defined.items() if section in ("inputs", "graph")]
        tensor = tensor_of_gradient_name(name, differentiable)
        hint = scope.suggestion(name, visible)
        if quotient and self.gradients and quotient[1] in differentiable:
            hint = Hint(f"did you mean grad({quotient[1]})?", quotient[0], f"grad({quotient[1]})")
        elif tensor and self.gradients:
            hint = Hint(f"did you mean grad({tensor})?", name, f"grad({tensor})")
        elif self.gradients and name in _INCOMING and "graph" in scope.defined.values():
            root = [one for one in scope.defined if scope.defined[one] == "graph"][-1]
            hint = Hint(f"did you mean grad({root}), the gradient that comes in?", name, f"grad({root})")
        elif not isinstance(hint, Hint) and re.search(rf"\w\s*=\s*{re.escape(name)}\b", self.text):
            hint = Hint(f"text needs quotes: '{name}'", name, f"'{name}'")
        elif lookup(name) is not None and not isinstance(hint, Hint):
            hint = f"it is an op: {name}(x)"
        elif "//" in self.text[: self.text.find(name)]:
            hint = "a comment begins with #"
        elif name in LIBRARIES:
            hint = _library_hint(name, self.text)
        elif hint and not isinstance(hint, Hint) and name in scope.reported_unknown:
            return  # a list of what there is helps once
        scope.reported_unknown.add(name)
        scope.add_error(f"the name '{name}' is unknown", place, hint)

    def _visible(self, names: Names) -> list[str]:
        return list(islice((name for name in self.scope.defined if name in names), MOST_COMPARED))

    def _cycle(self, user: str, used: str) -> str:
        """Return a hint if `used` depends on its user in turn, else ""."""
        scope = self.scope
        if len(scope.errors) >= MOST_HINTS:
            return ""
        entries = scope.document.data[scope.defined[used]]
        seen, todo = {used}, [used]
        while todo and len(seen) < MOST_COMPARED:
            try:
                names = parse_cached(str(entries.get(todo.pop()))).mentions.names
            except InvalidCase:
                continue
            if user in names:
                return f"it depends on '{user}' in turn, and a graph has no cycles"
            below = [name for name in names if name in entries and name not in seen]
            seen.update(below)
            todo += below
        return ""

    def report_missing_result(self, node: Attribute, why: NoSuchResult) -> None:
        """Report a result that the op does not have."""
        place = self.place(self.text.index(node.name, node.at + len(getattr(node.value, "name", ""))))
        is_op = lookup(node.name) is not None
        hint = Hint(f"call it: .{node.name}()", node.name, f"{node.name}()") if is_op else why.hint
        self.scope.add_error(why.message, place, hint)

    def has_gradient(self, name: str, at: int) -> bool:
        """Return whether the case has a gradient `grad(name)` here."""
        sections = ("inputs", "graph")
        if not self.gradients:
            hint = "grad(…) stands in `formulas`, `wrong_formulas`, `let` and `checks`"
            self.scope.add_error(f"grad({name}) is not known before the backward pass", self.place(at), hint)
            return False
        if self.scope.defined.get(name) in sections:
            return True
        inside = _GRAD.match(self.text, at)
        return self.scope.check_reference(
            self.path, sections, "the tensor of grad,", name, self.place(inside.end() if inside else at)
        )

    def has_derivative(self, term: Derivative, at: int) -> bool:
        """Return whether the case has this Jacobian or Hessian here."""
        if not self.gradients:
            hint = "it stands in `formulas`, `jacobians`, `hessians`, `let` and `checks`"
            self.scope.add_error(f"{term.name} is not known in a graph", self.place(at), hint)
            return False
        sections, what = ("inputs", "graph"), f"the tensor of {term.kind},"
        return all(self.scope.check_reference(self.path, sections, what, one, self.place(at)) for one in term.tensors)

    def report_random_op(self, name: str, at: int) -> bool:
        """Report a random creator."""
        hint = "draw it under `inputs` or `constants`, so that every engine gets the same numbers"
        self.scope.add_error(f"'{name}' draws random numbers", self.place(at), hint)
        return False

    def are_affordable(self, read: ParsedExpression) -> bool:
        """Return whether creators of known sizes stay within the element limit."""
        before = len(self.scope.errors)
        for call, error in oversized_creators(read.expr, read.creators, self.scope.sizes, self.expressions.elements):
            self.scope.add_error(error.message, self.place(call.at), error.hint)
        return len(self.scope.errors) == before

    def has_tensor_operands(self, call: Call) -> bool:
        """Return False for `max(0, x)` of a tensor, where torch takes no number."""
        scope = self.scope
        for number, other in (call.args, call.args[::-1]):
            plain = isinstance(number, Literal) and isinstance(number.value, (int, float))
            if not plain or not any(scope.defined.get(name) in TENSORS for name in _tensors_in(other)):
                continue
            if call.op in ("max", "min") and number is call.args[1]:
                return True  # along a dimension
            clamped = clamp_for(call.op, number, other)
            many = len(scope.errors) >= MOST_HINTS
            hint = "" if many else f"write {' or '.join(map(to_text, clamped))}"
            if not many and scope.document.is_verbatim(self.path, self.text):
                whole = to_text(replace_part(parse_cached(self.text).expr, call, clamped[0]))
                hint = Hint(hint, self.text, whole, self.place(0))
            scope.add_error(f"{call.op} takes tensors, not the number {to_text(number)}", self.place(call.at), hint)
            return False
        return True

    def is_qualified_gradient(self) -> bool:
        """Return whether the op `gradient` is written as torch's."""
        found = _BARE_GRADIENT.search(self.text)
        if found is not None:
            hint = Hint("write grad(x); differences of neighbours are torch.gradient(x)", found[0], "grad(")
            self.scope.add_error("gradient(…) is no gradient of the graph", self.place(found.start()), hint)
        return found is None

    def has_value(self, call: Call) -> bool:
        """Return whether arithmetic over sizes is defined and fits 64 bits."""
        try:
            evaluate(call, self.scope.sizes)
        except TensorError as error:
            self.scope.add_error(error.message, self.place(call.at), error.hint)
            return False
        return True


def _tensors_in(expr: Expr) -> Iterator[str]:
    """Yield the names whose values an expression uses, not only their shapes."""
    stack = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, Name):
            yield node.name
        elif not isinstance(node, Attribute):
            stack += node.children


def clamp_for(op: str, number: Expr, tensor: Expr) -> tuple[Expr, ...]:
    """Return spellings of the larger, or smaller, of a number and a tensor."""
    is_lower = op in ("max", "maximum", "fmax")
    clamped = Call("clamp", (tensor,), (("min" if is_lower else "max", number),))
    return (Call("relu", (tensor,)), clamped) if is_lower and number == Literal(0) else (clamped,)


def _library_hint(name: str, text: str) -> str:
    """Return what the first call of a library lacks: it was read as a method."""
    called = re.search(rf"\b{re.escape(name)}\.(\w+)\(", text)
    op = lookup(called[1]) if called else None
    if op is None or sum(parameter.required for parameter in op.parameters) < 2:
        return f"ops are called by their names alone, without '{name}.'"
    return USAGE_HINTS.get((op.name, 1)) or f"{op.name} lacks an argument; its signature is {op.signature}"
