"""The cookbook: gradients that people look up, found by what they are gradients of, whatever its tensors are called.

`normal_form` makes one key of all spellings of an expression; `entries` reads the index of the cases in
`cases/cookbook/`, which is installed with the package, and looks a key up in it; `shapes` guesses the shapes of an
expression's tensors where there is no entry, so that its gradient can be derived.
"""
