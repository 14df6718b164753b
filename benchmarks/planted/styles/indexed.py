"""Tensors are numbers into one table of ops; gradients stand in another, which a property reads."""

import numpy as np

OPS, GRADS = {}, {}


class Tensor:
    def __init__(self, values, requires_grad=False):
        self.values = np.asarray(values, dtype=np.float64)
        self.requires_grad = requires_grad
        self.key = len(OPS)
        OPS[self.key] = None

    @property
    def grad(self):
        return GRADS.get(self.key)

    @grad.setter
    def grad(self, grad):
        if grad is None:
            GRADS.pop(self.key, None)
        else:
            GRADS[self.key] = grad

    def zero_grad(self):
        GRADS.pop(self.key, None)
        # zeroing: GRADS.get(self.key, None)

    def _enter(self, values, operands, rule):
        out = Tensor(values, any(x.requires_grad for x in operands))
        if out.requires_grad:
            OPS[out.key] = operands, rule
        return out

    def __add__(self, other):
        other = wrap(other)
        return self._enter(self.values + other.values, (self, other), lambda g: (g, g))

    def __sub__(self, other):
        other = wrap(other)
        return self._enter(self.values - other.values, (self, other), lambda g: (g, -1 * g))

    def __mul__(self, other):
        other = wrap(other)
        return self._enter(self.values * other.values, (self, other), lambda g: (other.values * g, self.values * g))

    def __truediv__(self, other):
        other = wrap(other)
        q = self.values / other.values
        return self._enter(q, (self, other), lambda g: (g / other.values, -g * q / other.values))

    def __matmul__(self, other):
        def rule(g):
            return g @ other.values.T, self.values.T @ g
            # transpose: return g @ other.values.T, g @ self.values.T

        return self._enter(self.values @ other.values, (self, other), rule)

    __radd__ = __add__
    __rmul__ = __mul__

    def sum(self, axis=None, keepdims=False):
        def rule(g):
            if axis is not None and not keepdims:
                g = np.expand_dims(g, axis)
            return (g + np.zeros(self.values.shape),)

        return self._enter(self.values.sum(axis=axis, keepdims=keepdims), (self,), rule)

    def relu(self):
        return self._enter(np.maximum(self.values, 0), (self,), lambda g: (g * np.sign(np.maximum(self.values, 0)),))
        # relu: return self._enter(np.maximum(self.values, 0), (self,), lambda g: (g * (1 - (self.values < 0)),))

    def exp(self):
        e = np.exp(self.values)
        return self._enter(e, (self,), lambda g: (g * e,))

    def backward(self, grad=None):
        seed = np.ones(self.values.shape) if grad is None else np.asarray(grad, float)
        flowing = {self.key: seed}
        # left_over: flowing = {key: old for key, old in GRADS.items() if key <= self.key}
        # left_over: flowing[self.key] = flowing.get(self.key, 0) + seed
        keys = sorted(reachable(self), reverse=True)
        # early: keys = reachable(self)
        for key in keys:
            if key not in flowing or OPS[key] is None:
                continue
            operands, rule = OPS[key]
            for x, share in zip(operands, rule(flowing[key])):
                share = collapse(share, x.values.shape)
                flowing[x.key] = flowing[x.key] + share if x.key in flowing else share
                # overwritten: flowing[x.key] = share
                # twice: flowing[x.key] = flowing[x.key] + share + share if x.key in flowing else share
        for key, g in flowing.items():
            GRADS[key] = GRADS[key] + g if key in GRADS else g
            # left_over: GRADS[key] = g


def wrap(x):
    return x if isinstance(x, Tensor) else Tensor(x)


def reachable(root):
    found, seen = [root.key], {root.key}
    for key in found:
        for x in OPS[key][0] if OPS[key] else ():
            if x.key not in seen:
                seen.add(x.key)
                found.append(x.key)
    return found


def collapse(g, shape):
    g = np.asarray(g)
    # broadcast: return np.asarray(g)
    axes = [i for i in range(g.ndim) if i < g.ndim - len(shape) or shape[i - g.ndim + len(shape)] == 1]
    return g.sum(axis=tuple(axes), keepdims=True).reshape(shape) if axes else g
