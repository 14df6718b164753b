# ruff: noqa
# mypy: ignore-errors
"""Layers by hand, as people write them: each as a Function, and as a pair on NumPy arrays. Sections are cut apart at
`# layer:`."""

import math

import numpy as np
import torch
from torch.autograd.function import once_differentiable
import torch.nn.functional as F

# layer: linear


class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, bias):
        ctx.save_for_backward(input, weight)
        return input.mm(weight.t()) + bias.unsqueeze(0).expand(input.shape[0], -1)

    @staticmethod
    def backward(ctx, grad_output):
        input, weight = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


def linear_forward(input, weight, bias):
    return input @ weight.T + bias, (input, weight)


def linear_backward(dout, cache):
    input, weight = cache
    dx = dout @ weight
    dw = dout.T @ input
    db = dout.sum(axis=0)
    return dx, dw, db


# layer: mlp


class Mlp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w1, b1, w2, b2):
        h = (x @ w1 + b1).clamp(min=0)
        ctx.save_for_backward(x, w1, w2, h)
        return h @ w2 + b2

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        x, w1, w2, h = ctx.saved_tensors
        dw2 = h.t() @ g
        db2 = g.sum(0)
        dh = g @ w2.t()
        dz = dh * (h > 0)
        return dz @ w1.t(), x.t() @ dz, dz.sum(0), dw2, db2


def mlp_forward(x, w1, b1, w2, b2):
    z = x.dot(w1) + b1
    h = np.maximum(z, 0)
    return h.dot(w2) + b2, (x, w1, z, h, w2)


def mlp_backward(dout, cache):
    x, w1, z, h, w2 = cache
    dw2, db2 = h.T.dot(dout), dout.sum(0)
    dz = dout.dot(w2.T)
    dz[z <= 0] = 0
    return dz.dot(w1.T), x.T.dot(dz), dz.sum(0), dw2, db2


# layer: embedding


class Embedding(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tokens, table):
        ctx.save_for_backward(tokens)
        ctx.rows = table.shape[0]
        return table[tokens]

    @staticmethod
    def backward(ctx, g):
        (tokens,) = ctx.saved_tensors
        grad = g.new_zeros(ctx.rows, g.shape[-1])
        grad.index_add_(0, tokens.reshape(-1), g.reshape(-1, g.shape[-1]))
        return None, grad


def embedding_forward(tokens, table):
    return table[tokens], (tokens, table.shape)


def embedding_backward(dout, cache):
    tokens, shape = cache
    d = np.zeros(shape)
    np.add.at(d, tokens, dout)
    return d


# layer: bilinear


class Bilinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, m, b):
        ctx.save_for_backward(a, m, b)
        return ((a @ m) * b).sum(1)

    @staticmethod
    def backward(ctx, g):
        a, m, b = ctx.saved_tensors
        g = g[:, None]
        return g * (b @ m.T), a.T @ (g * b), g * (a @ m)


def bilinear_forward(a, m, b):
    return np.einsum("ni,ij,nj->n", a, m, b), (a, m, b)


def bilinear_backward(dout, cache):
    a, m, b = cache
    da = np.einsum("n,ij,nj->ni", dout, m, b)
    dm = np.einsum("n,ni,nj->ij", dout, a, b)
    db = np.einsum("n,ni,ij->nj", dout, a, m)
    return da, dm, db


# layer: film


class Film(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gamma, beta):
        ctx.save_for_backward(x, gamma)
        return x * (1 + gamma[:, :, None]) + beta[:, :, None]

    @staticmethod
    def backward(ctx, g):
        x, gamma = ctx.saved_tensors
        return g * (1 + gamma[:, :, None]), (g * x).sum(-1), g.sum(-1)


def film_forward(x, gamma, beta):
    return x * (1 + gamma[:, :, None]) + beta[:, :, None], (x, gamma)


def film_backward(dout, cache):
    x, gamma = cache
    dx = dout * (1 + gamma[:, :, None])
    dgamma = (dout * x).sum(axis=2)
    dbeta = dout.sum(axis=2)
    return dx, dgamma, dbeta


# layer: prelu


class PRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x, slope)
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, g):
        x, slope = ctx.saved_tensors
        below = x <= 0
        dx = torch.where(below, slope * g, g)
        dslope = (g * x * below).sum(0)
        return dx, dslope


def prelu_forward(x, slope):
    return np.where(x > 0, x, slope * x), (x, slope)


def prelu_backward(dout, cache):
    x, slope = cache
    dx = dout * np.where(x > 0, 1, slope)
    dslope = np.sum(dout * np.minimum(x, 0), axis=0)
    return dx, dslope


# layer: gelu


class Gelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        t = torch.tanh(inner)
        ctx.save_for_backward(x, t)
        return 0.5 * x * (1 + t)

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        x, t = ctx.saved_tensors
        dinner = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)
        return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * dinner)


K = np.sqrt(2 / np.pi)


def gelu_forward(x):
    t = np.tanh(K * (x + 0.044715 * x**3))
    return 0.5 * x * (1 + t), (x, t)


def gelu_backward(dout, cache):
    x, t = cache
    dt = (1 - t**2) * K * (1 + 0.134145 * x**2)
    return dout * (0.5 * (1 + t) + 0.5 * x * dt)


# layer: swiglu


class SwiGlu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, v):
        a, b = x @ w, x @ v
        ctx.save_for_backward(x, w, v, a, b)
        return a * torch.sigmoid(a) * b

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        x, w, v, a, b = ctx.saved_tensors
        s = torch.sigmoid(a)
        da = g * b * (s + a * s * (1 - s))
        db = g * a * s
        return da @ w.T + db @ v.T, x.T @ da, x.T @ db


def swiglu_forward(x, w, v):
    a, b = x @ w, x @ v
    s = 1 / (1 + np.exp(-a))
    return a * s * b, (x, w, v, a, b, s)


def swiglu_backward(dout, cache):
    x, w, v, a, b, s = cache
    db = dout * a * s
    da = dout * b * s * (1 + a * (1 - s))
    dx = da @ w.T + db @ v.T
    return dx, x.T @ da, x.T @ db


# layer: dropout


class Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, mask):
        ctx.save_for_backward(mask)
        return x * mask / 0.75

    @staticmethod
    def backward(ctx, g):
        (mask,) = ctx.saved_tensors
        return g * mask / 0.75, None


def dropout_forward(x, mask):
    return x * mask / 0.75, mask


def dropout_backward(dout, mask):
    return dout * mask / 0.75
