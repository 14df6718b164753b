"""The section `implementations`: code that computes entries of the graph.

Nothing is imported or run here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, get_args

from gradcheck.language.case import Claim, Implementation, StatedTolerance
from gradcheck.language.loader import model
from gradcheck.language.loader.expression_reader import ExpressionReader
from gradcheck.language.loader.value_reader import read_tolerance
from gradcheck.language.loader.yaml_document import BROKEN, Path, describe, path_text
from gradcheck.language.suggest import did_you_mean

_KEYS = ("call", "forward", "backward", "arguments", "dtypes", "tolerance", "order", "autocast")
#: The dtypes of `torch.autocast`.
_AUTOCAST = ("bfloat16", "float16")
#: `FILE.py:NAME`, `package.module:Name.attribute`.
_REFERENCE = re.compile(r"[^:\s][^:]*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_HINT = "write FILE.py:NAME, the file beside this one, or module:NAME"


class ImplementationReader:
    """Reads the implementations of one case; mistakes are errors of the scope."""

    def __init__(self, expressions: ExpressionReader, above: Mapping[str, Collection[str]]) -> None:
        """Take the names that each graph entry may use as `above`."""
        self.expressions, self.above = expressions, above
        self.scope = expressions.scope

    def read(self, said: Mapping[str, Any]) -> tuple[Implementation, ...]:
        """Return all implementations in file order."""
        found: list[Implementation | None] = []
        for entry, data in said.items():
            path = ("implementations", entry)
            if not self.scope.check_reference(path, ("graph",), "the entry"):
                continue
            if data == []:
                self.scope.add_error(f"{path_text(path)} is an empty list", path)
            listed = [((*path, i), one) for i, one in enumerate(data)] if isinstance(data, list) else [(path, data)]
            found += [self._one(entry, at, one) for at, one in listed]
        return tuple(one for one in found if one is not None)

    def _one(self, entry: str, path: Path, data: Any) -> Implementation | None:
        if data is BROKEN:
            return None
        if isinstance(data, str):
            call = self._reference(path, data)
            place = self.scope.document.place(path)
            return None if call is None else Implementation(entry, call, place=place)
        if not isinstance(data, dict):
            what = "has no value" if data is None else f"takes a reference to Python code, not {describe(data)}"
            self.scope.add_error(f"{path_text(path)} {what}", path, _HINT, key=data is None)
            return None
        return self._mapping(entry, path, data)

    def _mapping(self, entry: str, path: Path, data: dict[str, Any]) -> Implementation | None:
        before = len(self.scope.errors)
        for key in data:
            if key not in _KEYS:
                hint = did_you_mean(key, _KEYS, f"the keys here are {', '.join(_KEYS)}")
                self.scope.add_error(f"unknown key '{key}'", (*path, key), hint, key=True)
        call = data.get("call")
        if isinstance(call, dict):  # {call: {forward: F, backward: B}}
            data = {**data, **call}
            data.pop("call")
        if ("forward" in data) != ("backward" in data) or ("forward" in data) == ("call" in data):
            hint = "write {call: FILE.py:NAME}, or {forward: FILE.py:NAME, backward: FILE.py:NAME}"
            self.scope.add_error(f"{path_text(path)} takes either 'call', or 'forward' and 'backward'", path, hint)
            return None
        key = "call" if "call" in data else "forward"
        inside = (*path, "call") if isinstance(call, dict) else path
        forward = self._reference((*inside, key), data[key])
        backward = self._reference((*inside, "backward"), data["backward"]) if "backward" in data else ""
        arguments = self._arguments(entry, (*path, "arguments"), data["arguments"]) if "arguments" in data else None
        autocast = self._autocast((*path, "autocast"), data.get("autocast"))
        made = Implementation(
            entry,
            forward or "",
            backward or "",
            arguments,
            self._dtypes((*path, "dtypes"), data.get("dtypes", ["float32"] if autocast else [])),
            self._tolerance((*path, "tolerance"), data.get("tolerance")),
            self._order((*path, "order"), data.get("order")),
            place=self.scope.document.place((*inside, key)),
            autocast=autocast,
        )
        return made if len(self.scope.errors) == before else None

    def _reference(self, path: Path, text: Any) -> str | None:
        if isinstance(text, str) and _REFERENCE.fullmatch(text):
            return text
        if text is not BROKEN:
            self.scope.add_error(
                f"{path_text(path)} takes a reference to Python code, not {describe(text)}", path, _HINT
            )
        return None

    def _arguments(self, entry: str, path: Path, data: Any) -> tuple[Claim, ...]:
        if not isinstance(data, list):
            self.scope.add_error(f"{path_text(path)} takes a list, not {describe(data)}", path, "write [x, w, 2]")
            return ()
        known = self.above.get(entry, ())
        read = [self.expressions.read((*path, i), one, known) for i, one in enumerate(data)]
        return tuple(claim for claim in read if claim is not None)

    def _dtypes(self, path: Path, data: Any) -> tuple[str, ...]:
        known = get_args(model.Dtype)
        listed = [data] if isinstance(data, str) else data
        if not isinstance(listed, list):
            self.scope.add_error(
                f"{path_text(path)} takes a list of dtypes, not {describe(data)}", path, "write [float32]"
            )
            return ()
        words = [one.removeprefix("torch.") if isinstance(one, str) else one for one in listed]
        for number, word in enumerate(words):
            if word not in known:
                at = (*path, number) if isinstance(data, list) else path
                self.scope.add_error(f"{describe(word)} is no dtype here", at, did_you_mean(str(word), known, ""))
        return tuple(dict.fromkeys(word for word in words if word in known))

    def _autocast(self, path: Path, data: Any) -> str:
        word = data.removeprefix("torch.") if isinstance(data, str) else data
        if word is None or word in _AUTOCAST:
            return word or ""
        text = f"{path_text(path)} takes {' or '.join(_AUTOCAST)}, not {describe(data)}"
        self.scope.add_error(text, path, "float32 stays as it is")
        return ""

    def _order(self, path: Path, data: Any) -> int | None:
        if data in (None, 1, 2) and data is not True:
            return data  # type: ignore[no-any-return]
        self.scope.add_error(f"{path_text(path)} takes 1 or 2, not {describe(data)}", path, "1: no second order")
        return None

    def _tolerance(self, path: Path, data: Any) -> StatedTolerance | None:
        if data is None:
            return None
        if isinstance(data, (int, float)) and not isinstance(data, bool):
            data = {"rtol": data}
        if not isinstance(data, dict):
            self.scope.add_error(f"{path_text(path)} takes a mapping, not {describe(data)}", path, "write {rtol: 1e-6}")
            return None
        return read_tolerance(self.scope, path, data)
