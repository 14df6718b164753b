"""`python -m benchmarks.exam`: the exam by itself, with its options."""

from __future__ import annotations

import sys

from benchmarks.exam.report import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
