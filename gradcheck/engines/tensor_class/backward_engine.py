"""Backward passes of a Tensor class: their roots and incoming gradients."""

from __future__ import annotations

import ast
import inspect
import linecache
import operator
import sys
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import reduce
from math import prod
from types import CodeType, FrameType
from typing import Any, TypeGuard

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.engines.base import Evaluation, as_tensor_error
from gradcheck.engines.tensor_class.api import Api
from gradcheck.engines.tensor_class.call_forms import Library
from gradcheck.engines.tensor_class.capabilities import Capabilities, as_seed
from gradcheck.engines.tensor_class.foreign_engine import ForeignEngine
from gradcheck.engines.tensor_class.op_calls import OpCalls
from gradcheck.engines.tensor_class.user_code_guard import EngineError, is_deliberate, is_own_frame, translate_errors
from gradcheck.engines.tensor_class.wrapped_tensor import WrappedTensor
from gradcheck.errors import GradcheckError, NonScalarBackward, Place, TensorError, Unsupported
from gradcheck.language.problem import Problem

Seeds = list[np.ndarray | None]


class BackwardEngine(ForeignEngine):
    """A library whose tensors run their own passes, by its `Api`."""

    def __init__(self, api: Api, name: str, library: Library) -> None:
        super().__init__(name, api.name, library)
        self.api = api
        self.calls = OpCalls(self)
        self._dtype = np.dtype(np.float64)
        self._pass_roots: list[WrappedTensor] = []  # roots of passes over this graph
        self._retained: list[WrappedTensor] = []  # tensors that are no leaves, and retain their gradients
        self._is_graph_used = False  # whether no op has been applied since the last backward pass
        self._is_bare = False  # whether only the case's own ops and passes run

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """The properties of its backward pass."""

    def new_graph(self) -> None:
        super().new_graph()
        self._pass_roots, self._retained = [], []
        self.api.begin_graph()

    def mark_endless(self, op: Op) -> AbstractContextManager[None]:
        """Do not try an op again if it is interrupted in the block."""
        return self.calls.lookup.mark_endless(op)

    def use_flag(self, flag: tuple[str, bool]) -> None:
        """Make tensors by this flag, and look every op up again."""
        if (self.api.grad_flag, self.api.grad_flag_value) != flag:
            self.api.grad_flag, self.api.grad_flag_value = flag
            self.forget_forms()

    def forget_forms(self) -> None:
        self.calls.forget_forms()

    def use_dtype(self, name: str) -> None:
        """Round values and gradients to this dtype."""
        self._dtype = np.dtype(name)

    def compared_values(self, values: np.ndarray) -> np.ndarray:
        """Return values in the class's own precision, which results may exceed."""
        own = self._dtype
        return values.astype(own) if values.dtype.kind == "f" and own.itemsize < values.dtype.itemsize else values

    def raw_gradient(self, tensor: WrappedTensor) -> np.ndarray | None:
        """Return the gradient as the class has it."""
        with translate_errors("reading a gradient"):
            return self.api.gradient_array(tensor.tensor)

    def backward(self, roots: list[WrappedTensor], seeds: Seeds, retain_graph: bool) -> None:
        """Run one pass from all roots, or from one total of them."""
        self._check_supported(roots, retain_graph)
        roots, seeds = self.starts(roots, seeds)
        can, was_started = self.capabilities, bool(self._pass_roots)
        for tensor in self._retained if was_started and not can.adds_to_intermediates else ():
            tensor.unread = True  # the new pass overwrites the sum
        is_anew = was_started and (not can.adds_to_roots or can.seed.startswith("assigned"))
        keep = retain_graph if self.api.keeping_arguments else None
        for root, seed in zip(roots, seeds, strict=True):
            start = self.start_of(root)
            root.unread = root.unread or not can.keeps_roots or is_anew
            self._pass_roots.append(root)
            with self._rejected_shape_as_unsupported(start), translate_errors("backward()"):
                self.start(start, can, seed, keep)
        self._is_graph_used = True

    @contextmanager
    def _rejected_shape_as_unsupported(self, start: Any) -> Iterator[None]:
        """Raise Unsupported if the class rejects a single number by its shape."""
        try:
            yield
        except EngineError as error:
            shape, cause = np.shape(self.values_of(start)), error.__cause__
            is_by_shape = prod(shape) == 1 and shape != self.capabilities.total_shape
            if not is_by_shape or cause is None or not is_deliberate(cause):
                raise
            raise Unsupported(error.message, lacks=f"passes from a tensor of shape {list(shape)}") from error

    def start(self, root: Any, how: Capabilities, incoming: np.ndarray | None, keep: bool | None = None) -> None:
        """Run one backward pass from one of the class's tensors."""
        shape = np.shape(self.values_of(root))
        alone = how.starts_alone and (how.seed == "none" or prod(shape) != 1 or shape in (how.total_shape, ()))
        if incoming is None and (how.seed.startswith("assigned") or not alone):
            incoming = np.ones(shape, how.dtype)
        if incoming is not None and incoming.size == 1:
            incoming = incoming.reshape(shape)
        given = [] if incoming is None or how.seed == "none" else [as_seed(self.api, how.seed, incoming)]
        if given and how.seed.startswith("assigned"):
            self.api.set_gradient(root, given.pop(), False)
        self.api.backward(root, *given, keyword=how.keyword, retain_graph=keep)

    def values_of(self, root: Any) -> np.ndarray:
        """Return the values of one of the class's own tensors."""
        return self.api.read(root)

    def start_of(self, root: WrappedTensor) -> Any:
        """Return the object whose `backward` is called."""
        return root.tensor

    def _check_supported(self, roots: list[WrappedTensor], retain_graph: bool) -> None:
        """Raise Unsupported for passes that the class does not have."""
        if self._is_graph_used and not self.capabilities.keeps_graph:
            raise Unsupported(f"{self.name} keeps no graph after a backward pass", lacks="second passes over a graph")
        leaves = [leaf for _, leaf in self._leaf_arrays if leaf.requires_grad]
        if self._pass_roots and not self.capabilities.adds_up and any(np.any(one.grad) for one in leaves):
            raise Unsupported(f"each pass of {self.name} begins anew", lacks="gradients that add up over passes")
        if not retain_graph and not self.api.keeping_arguments:
            raise Unsupported(f"{self.name} has no option to free a graph", lacks="retain_graph")
        if not self.api.grad_flag and not all(root.requires_grad for root in roots):
            raise Unsupported(f"{self.name} has no flag for tensors without gradients", lacks="a flag for gradients")
        if any(root.tensor is None for root in roots):
            raise Unsupported("a backward pass from what is no tensor of the engine", lacks="passes from constants")

    def starts(self, roots: list[WrappedTensor], seeds: Seeds) -> tuple[list[WrappedTensor], Seeds]:
        """Return roots and seeds as the class takes them, or as one total."""
        if all(seed is None for seed in seeds) and len(roots) == 1:
            if roots[0].array.size != 1 and self.api.is_scalar:
                raise Unsupported("one number has no backward pass from several", lacks="tensors of several numbers")
            return roots, seeds
        can = self.capabilities
        root, leaves = roots[0], [leaf for _, leaf in self._leaf_arrays]
        is_returned = len(roots) == 1 and any(root.tensor is leaf.tensor and root is not leaf for leaf in leaves)
        takes_seed = can.seed != "none" and not self.api.is_scalar and not is_returned
        if takes_seed and (len(roots) == 1 or (self._is_bare and can.adds_up)):
            return roots, seeds
        if any(seed is None and root.array.size != 1 for root, seed in zip(roots, seeds, strict=True)):
            raise NonScalarBackward("a backward pass without a gradient from a tensor of several elements")
        if len(roots) == 1 and np.all(seeds[0] == 1) and (can.starts_with_ones or roots[0].array.size == 1):
            return roots, [None]
        return [self.total(roots, seeds)], [None]

    def total(self, roots: list[WrappedTensor], seeds: Seeds) -> WrappedTensor:
        """Return the roots' total, computed by few ops. Raises Unsupported."""
        terms = []
        for root, seed in zip(roots, seeds, strict=True):
            ones = seed is None or np.all(seed == 1)
            term = root if ones else root * self.leaf(np.asarray(seed, root.dtype), False)
            is_summed = term.ndim and (len(roots) > 1 or not self.capabilities.starts_with_ones)
            terms.append(term.sum() if is_summed else term)
        return reduce(operator.add, terms)

    # The bare graph -----------------------------------------------------------------------------

    def evaluate_bare(self, problem: Problem) -> Evaluation:
        """Evaluate the problem on its bare graph: its ops and its leaves alone.

        Failures are repeated on it. Tensors do not retain gradients, so some are unread, and no op is tried beside the
        graph, since all are known by then. The evaluation has no states, and Unsupported, if incoming gradients cannot
        be given: if one takes a total of products with roots, that total is tried on leaves of its own, and if the
        class is wrong there already, nothing else is reported. Nor is a second pass from such a total reported, if
        only the root lies in between: in a pass of the class's own, which starts there, the root's first gradient
        would be overwritten."""
        self._is_bare = True
        try:
            found = self.evaluate(problem)
            with self.fresh_session(problem.dtype):
                error = self._seed_error(problem, found)
            return found if error is None else Evaluation(self.name, (), error)
        finally:
            self._is_bare = False

    def _seed_error(self, problem: Problem, found: Evaluation) -> TensorError | None:
        passes = 0  # over this graph so far
        for step, seeds, state in zip(problem.case.steps, problem.seeds, found.states, strict=False):
            passes = 0 if step.action == "forward" else passes + (step.action == "backward")
            roots = [state.values[root] for root in step.roots]
            given = [seeds[root] for root in step.roots]
            if roots and not self.accepts_seeds(roots, given):
                message = f"{self.name} takes no incoming gradient, and is wrong in a root times one already"
                return as_tensor_error(Unsupported(message, lacks="incoming gradients"))
            if passes > 1 and problem.case.graph.keys() <= step.roots.keys() and not self._starts_at(roots, given):
                message = f"{self.name} begins no pass at tensors of several numbers"
                return as_tensor_error(Unsupported(message, lacks="second passes from these"))
        return None

    def _starts_at(self, roots: Sequence[np.ndarray], seeds: Sequence[np.ndarray | None]) -> bool:
        """Return whether passes start at these roots, and at no total of them."""
        self.new_graph()
        leaves = [self.leaf(np.asarray(root), True) for root in roots]
        starts, _ = self.starts(leaves, list(seeds))
        return all(any(start is leaf for leaf in leaves) for start in starts)

    def accepts_seeds(self, roots: Sequence[np.ndarray], seeds: Sequence[np.ndarray | None]) -> bool:
        """Return whether passes give leaves like the roots these gradients.

        It is True without a test if the class's own pass takes them. A product comes before the one with an incoming
        gradient: a pass may stop there."""
        with self.output.capturing():
            try:
                if self._starts_at(roots, seeds):
                    return True
                self.new_graph()
                leaves = [self.leaf(np.asarray(root), True) for root in roots]
                ones = [seed is None or bool(np.all(seed == 1)) for seed in seeds]  # else the total has a product
                deeper = [
                    one if plain else one * self.leaf(np.ones_like(one.array), False)
                    for one, plain in zip(leaves, ones, strict=True)
                ]
                self.backward(deeper, list(seeds), True)
                found = [leaf.grad for leaf in leaves]
            except GradcheckError:
                return False
        rtol = 1e-9 if self.capabilities.dtype == "float64" else 1e-2
        return all(
            got is not None and got.shape == leaf.shape and np.allclose(got, 1.0 if seed is None else seed, rtol, rtol)
            for leaf, got, seed in zip(leaves, found, seeds, strict=True)
        )


# The line of a library's own code at which its backward pass goes wrong ----------------------------
#
# The lines that a pass runs are recorded, and its files are read: `node.grad = share`, run within the pass, is where
# gradients are overwritten.

#: A line: its file, and its number.
Line = tuple[str, int]
#: The statements that are the mistake itself, by its kind.
_STATEMENTS: dict[str, type[ast.Assign | ast.AugAssign]] = {"overwritten": ast.Assign, "mutated": ast.AugAssign}


def line_of_mistake(
    kind: str, names: Collection[str], function: Callable[..., Any], run: Callable[[], object]
) -> Place | None:
    """Return the statement of a mistake, or where the pass begins.

    `names` are of attributes with gradients; `function` begins the pass, and `run` runs it."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if not isinstance(code, CodeType):
        return None
    start = Place(code.co_filename, code.co_firstlineno)
    statement = _STATEMENTS.get(kind)
    if statement is None:
        return start
    runs = _lines_run(code, run)
    known = {line for file in {file for file, _ in runs} for line in _statements(file, statement, names)}
    own = {(code.co_filename, line) for *_, line in code.co_lines()}  # one of these gives the root its gradient
    found = sorted(known & runs.keys(), key=lambda line: (line in own, -runs[line]))
    return Place(*found[0]) if found else start


def _lines_run(start: CodeType, run: Callable[[], object]) -> Counter[Line]:
    """Return how often each of the library's lines runs in a pass."""
    runs: Counter[Line] = Counter()
    depth = 0

    def enter(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal depth
        depth += frame.f_code is start
        return step if depth and is_own_frame(frame) else None

    def step(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal depth
        runs[frame.f_code.co_filename, frame.f_lineno] += event == "line"
        depth -= event == "return" and frame.f_code is start
        return step

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        run()
    finally:
        sys.settrace(before)
    return runs


def _statements(file: str, kind: type[ast.Assign | ast.AugAssign], names: Collection[str]) -> Iterator[Line]:
    """Yield lines that set a gradient, and do not read it on their right.

    What is set where there is none yet, `if node.grad is None`, overwrites nothing."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return
    first = {id(inner) for node in ast.walk(tree) if _asks_for_none(node, names) for inner in node.body}
    for node in ast.walk(tree):
        if not isinstance(node, kind) or isinstance(node.value, ast.Constant):
            continue  # a constant clears it, or begins a pass
        if id(node) in first and kind is ast.Assign:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        held = [one for one in targets if isinstance(one, ast.Attribute) and one.attr in names]
        read = {ast.dump(one.value) for one in ast.walk(node.value) if isinstance(one, ast.Attribute)}
        if held and ast.dump(held[0].value) not in read:
            yield file, node.lineno


def _asks_for_none(node: ast.AST, names: Collection[str]) -> TypeGuard[ast.If]:
    """Return whether a statement is `if node.grad is None`."""
    test = node.test if isinstance(node, ast.If) else None
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Is):
        return False
    return isinstance(test.left, ast.Attribute) and test.left.attr in names
