def both(gradient):
    return gradient, gradient
