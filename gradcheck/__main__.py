"""`python -m gradcheck`, and the console script."""

from __future__ import annotations

import os
import sys

#: Where XLA looks for CUDA's compiler, unless told otherwise: by default in ./cuda_sdk_lib.
_CUDA = "--xla_gpu_cuda_data_dir=/usr/local/cuda"


def main() -> None:
    """Run the command of this process; nothing follows it."""
    _open_standard_files()
    _leave_working_directory()
    from gradcheck import cli
    from gradcheck.cli.fast_exit import register_fast_exit

    cli.main(left_with=register_fast_exit())


def _open_standard_files() -> None:
    """Open the null device in place of a closed standard file."""
    # otherwise a pipe or a file of the command gets its number, and the output of a library in C
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _leave_working_directory() -> None:
    """Import no module, and start no program, of the working directory."""
    # it may contain files of others: `python -m` looks there, and so does who starts a program, if PATH has an empty or
    # a relative entry; if gradcheck comes from there, it goes to the end, for child processes
    os.environ["PATH"] = os.pathsep.join(filter(os.path.isabs, os.get_exec_path())) or os.defpath
    os.environ["NODEFAULTCURRENTDIRECTORYINEXEPATH"] = "1"  # Windows would look there first
    flags = os.environ.get("XLA_FLAGS", "")
    if not flags or flags.lstrip().startswith("--"):  # otherwise it names a file of flags
        os.environ["XLA_FLAGS"] = f"{_CUDA} {flags}"
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if sys.path and not getattr(sys.flags, "safe_path", False) and sys.path[0] in ("", _here()):
        del sys.path[0]
        if own not in sys.path:
            sys.path.append(own)


def _here() -> str:
    """Return the working directory; an empty text if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


if __name__ == "__main__":
    main()
