"""`python -m gradcheck`, and the console script."""

from __future__ import annotations

from gradcheck.cli import main

if __name__ == "__main__":
    main()
