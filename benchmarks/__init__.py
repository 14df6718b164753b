"""What gradcheck promises about speed, as commands that anyone can run: `python -m benchmarks`."""
