"""Digests of what results depend on besides the request.

These are gradcheck's own files, libraries, the machine, the environment. A digest is None if it cannot be determined,
and then nothing may be kept. Files count as they are on the disk: take their digest before importing them, and again
before storing results.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from importlib.util import cache_from_source, find_spec
from pathlib import Path

#: The package itself.
_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: Prefixes of variables that libraries read: kernels, threads, loaded code.
_RELEVANT_VARIABLES = (
    *("ATEN", "BLIS", "CUBLAS", "CUDA", "DNNL", "DYLD_", "GLIBC_", "GOMP", "GOTO", "JAX", "KMP_", "LD_", "MKL", "NPY_"),
    *("NUMPY", "NUMEXPR", "NVIDIA", "OMP_", "ONEDNN", "OPENBLAS", "PYTHON", "PYTORCH", "TORCH", "VECLIB", "XLA"),
)
#: Lines of /proc/cpuinfo on the kind of processor, not on its state.
_PROCESSOR = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags", "Features", "CPU ")
#: Folders of a library without code that runs.
_SKIPPED_FOLDERS = ("__pycache__", "include")


@dataclass(frozen=True, slots=True)
class EnvironmentDigest:
    """The digests of gradcheck, of libraries by name, and of the machine."""

    code: str
    libraries: Mapping[str, str]
    machine: str

    @classmethod
    def of(cls, code: str | None, libraries: Iterable[str]) -> EnvironmentDigest | None:
        """Return the digests, with an early `package_digest()`; None if unknown."""
        installed = {name: library_digest(name) for name in sorted(set(libraries))}
        known = {name: digest for name, digest in installed.items() if digest is not None}
        custom = startup_code_digest()
        if code is None or custom is None or len(known) < len(installed):
            return None
        return cls(code, known, _digest([machine_digest(), variables_digest(os.environ), custom]))

    def is_unchanged(self) -> bool:
        """Return whether all files are unchanged."""
        # everything else has been read by now, and libraries change their environment themselves
        return package_digest() == self.code and all(
            library_digest(name) == known for name, known in self.libraries.items()
        )

    @property
    def digest(self) -> bytes:
        """The digest of all digests."""
        return _digest([self.code, self.machine, *(part for pair in self.libraries.items() for part in pair)]).encode()


def package_digest(package: str = _PACKAGE_FOLDER) -> str | None:
    """Return the digest of a package's files; None if bytecode is stale."""
    found = []
    try:
        for file in sorted(_files(package)):
            with open(file, "rb") as stream:
                found.append(f"{file[len(package) :]} {blake2b(stream.read()).hexdigest()}")
            if file.endswith(".py") and _has_stale_bytecode(file):
                return None
    except OSError:
        return None
    return _digest(found) if found else None


def _has_stale_bytecode(file: str) -> bool:
    """Return whether bytecode hides a change of equal size in one second."""
    compiled = cache_from_source(file)
    try:
        source, known = os.stat(file), os.stat(compiled)
        if known.st_mtime_ns >= source.st_mtime_ns:
            return False
        with open(compiled, "rb") as stream:
            header = stream.read(16)
    except OSError:
        return False
    told = [number & 0xFFFFFFFF for number in (int(source.st_mtime), source.st_size)]
    return header[4:8] != bytes(4) or header[8:16] == b"".join(number.to_bytes(4, "little") for number in told)


def _files(folder: str) -> Iterator[str]:
    """Yield all files of a folder that may run; links are followed once."""
    waiting, seen = [folder], set()
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.name.startswith(".") or entry.name in _SKIPPED_FOLDERS:
                    continue
                if not entry.is_dir():
                    yield entry.path
                elif (key := (entry.stat().st_dev, entry.stat().st_ino)) not in seen:
                    seen.add(key)
                    waiting.append(entry.path)


def library_digest(name: str) -> str | None:
    """Return the digest of a library's record and of files changed later."""
    # without a record, every file counts; a library that is not installed has a digest, too
    try:
        found = find_spec(name)
        if found is None:
            return f"no {name}"
        places = list(found.submodule_search_locations or ())
        if len(places) != 1:
            return None
        records = sorted(Path(places[0]).parent.glob(f"{name}-*.dist-info/RECORD"))
        installed = max((record.stat().st_mtime_ns for record in records), default=-1)
        parts = [name, *(blake2b(record.read_bytes()).hexdigest() for record in records)]
        return _digest([*parts, *sorted(_written_after(places[0], installed))])
    except (OSError, ValueError):
        return None


def _written_after(folder: str, moment: int) -> Iterator[str]:
    for file in _files(folder):
        about = os.stat(file)
        if about.st_mtime_ns > moment:
            yield f"{file[len(folder) :]} {about.st_size} {about.st_mtime_ns}"


def machine_digest() -> str:
    """Return the digest of Python, system, processor and its cores."""
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION") if hasattr(os, "confstr") else ""
    except (OSError, ValueError):
        libc = ""
    python = [sys.version, str(sys.flags), str(sys.warnoptions), sys.byteorder, str(sorted(sys._xoptions.items()))]
    return _digest([*python, sys.platform, platform.machine(), str(libc), str(len(cores)), _processor()])


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            first = file.read(8192).split("\n\n")[0]
    except OSError:
        return platform.processor()
    return "\n".join(line for line in first.splitlines() if line.startswith(_PROCESSOR))


def variables_digest(variables: Mapping[str, str]) -> str:
    """Return the digest of every variable that a library may read."""
    return _digest(f"{name}={variables[name]}" for name in sorted(variables) if name.startswith(_RELEVANT_VARIABLES))


def startup_code_digest() -> str | None:
    """Return the digest of sitecustomize and usercustomize."""
    found = []
    for name in ("sitecustomize", "usercustomize"):
        file = getattr(sys.modules.get(name), "__file__", None)
        try:
            found.append(name if file is None else Path(file).read_text(encoding="utf-8", errors="surrogateescape"))
        except OSError:
            return None
    return _digest(found)


def _digest(parts: Iterable[str]) -> str:
    """Return a digest that differs for different sequences of texts."""
    found = blake2b(digest_size=32)
    for part in parts:
        data = part.encode("utf-8", "surrogateescape")
        found.update(len(data).to_bytes(8, "little") + data)
    return found.hexdigest()
