"""`python -m gradcheck`, and the console script."""

from __future__ import annotations

from gradcheck import cli
from gradcheck.cli.leaving import leaving


def main() -> None:
    """Run the command that the process is for: nothing comes after it."""
    cli.main(left_with=leaving())


if __name__ == "__main__":
    main()
