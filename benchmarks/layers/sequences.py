# ruff: noqa
# mypy: ignore-errors
"""Convolutions, pooling, attention and cells by hand."""

import math

import numpy as np
import torch
from torch.autograd.function import once_differentiable
import torch.nn.functional as F

# layer: conv1d


class Conv1d(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        cols = x.unfold(2, w.shape[2], 1)
        return torch.einsum("nclk,ock->nol", cols, w) + b[:, None]

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        k = w.shape[2]
        dw = torch.einsum("nol,nclk->ock", g, x.unfold(2, k, 1))
        dx = torch.zeros_like(x)
        for i in range(k):
            dx[:, :, i : i + g.shape[2]] += torch.einsum("nol,oc->ncl", g, w[:, :, i])
        return dx, dw, g.sum((0, 2))


def conv1d_forward(x, w, b):
    n, c, l = x.shape
    o, _, k = w.shape
    out = np.zeros((n, o, l - k + 1))
    for t in range(l - k + 1):
        out[:, :, t] = np.tensordot(x[:, :, t : t + k], w, axes=([1, 2], [1, 2])) + b
    return out, (x, w)


def conv1d_backward(dout, cache):
    x, w = cache
    k = w.shape[2]
    dx, dw = np.zeros_like(x), np.zeros_like(w)
    for t in range(dout.shape[2]):
        d = dout[:, :, t]
        dx[:, :, t : t + k] += np.tensordot(d, w, axes=(1, 0))
        dw += np.tensordot(d, x[:, :, t : t + k], axes=(0, 0))
    return dx, dw, dout.sum(axis=(0, 2))


# layer: conv2d


class Conv2d(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return F.conv2d(x, w, stride=2, padding=1)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        cols = F.unfold(x, w.shape[2:], stride=2, padding=1)
        flat = g.flatten(2)
        dw = torch.einsum("nol,nkl->ok", flat, cols).view_as(w)
        dcols = torch.einsum("ok,nol->nkl", w.flatten(1), flat)
        dx = F.fold(dcols, x.shape[2:], w.shape[2:], stride=2, padding=1)
        return dx, dw


def conv2d_forward(x, w):
    xp = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    k = w.shape[2]
    ho, wo = (xp.shape[2] - k) // 2 + 1, (xp.shape[3] - k) // 2 + 1
    out = np.zeros((x.shape[0], w.shape[0], ho, wo))
    for i in range(ho):
        for j in range(wo):
            out[:, :, i, j] = np.einsum("ncab,ocab->no", xp[:, :, 2 * i : 2 * i + k, 2 * j : 2 * j + k], w)
    return out, (xp, w)


def conv2d_backward(dout, cache):
    xp, w = cache
    k = w.shape[2]
    dxp, dw = np.zeros_like(xp), np.zeros_like(w)
    for i in range(dout.shape[2]):
        for j in range(dout.shape[3]):
            d = dout[:, :, i, j]
            window = xp[:, :, 2 * i : 2 * i + k, 2 * j : 2 * j + k]
            dw += np.einsum("no,ncab->ocab", d, window)
            dxp[:, :, 2 * i : 2 * i + k, 2 * j : 2 * j + k] += np.einsum("no,ocab->ncab", d, w)
    return dxp[:, :, 1:-1, 1:-1], dw


# layer: maxpool


class MaxPool(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out, where = F.max_pool2d(x, 2, return_indices=True)
        ctx.save_for_backward(where)
        ctx.shape = x.shape
        return out

    @staticmethod
    def backward(ctx, g):
        (where,) = ctx.saved_tensors
        return F.max_unpool2d(g, where, 2, output_size=ctx.shape)


def maxpool_forward(x):
    n, c, h, w = x.shape
    r = x.reshape(n, c, h // 2, 2, w // 2, 2)
    out = r.max(axis=(3, 5))
    return out, (r, out, x.shape)


def maxpool_backward(dout, cache):
    r, out, shape = cache
    mask = r == out[:, :, :, None, :, None]
    d = mask * dout[:, :, :, None, :, None]
    d = d / mask.sum(axis=(3, 5), keepdims=True)
    return d.reshape(shape)


# layer: avgpool


class AvgPool(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        n, c, h, w = x.shape
        return x.view(n, c, h // 2, 2, w // 2, 2).mean((3, 5))

    @staticmethod
    def backward(ctx, g):
        return g.repeat_interleave(2, 2).repeat_interleave(2, 3) / 4


def avgpool_forward(x):
    return (x[..., ::2, ::2] + x[..., 1::2, ::2] + x[..., ::2, 1::2] + x[..., 1::2, 1::2]) / 4


def avgpool_backward(dout, x):
    d = np.zeros_like(x)
    for i in (0, 1):
        for j in (0, 1):
            d[..., i::2, j::2] = dout / 4
    return d


# layer: attention


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        scale = 1 / math.sqrt(q.shape[-1])
        p = torch.softmax(q @ k.transpose(-2, -1) * scale, -1)
        ctx.save_for_backward(q, k, v, p)
        ctx.scale = scale
        return p @ v

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        q, k, v, p = ctx.saved_tensors
        dv = p.transpose(-2, -1) @ g
        dp = g @ v.transpose(-2, -1)
        ds = p * (dp - (dp * p).sum(-1, keepdim=True)) * ctx.scale
        return ds @ k, ds.transpose(-2, -1) @ q, dv


def attention_forward(q, k, v):
    scale = 1 / np.sqrt(q.shape[-1])
    s = q @ np.swapaxes(k, -1, -2) * scale
    s = s - s.max(-1, keepdims=True)
    p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return p @ v, (q, k, v, p, scale)


def attention_backward(dout, cache):
    q, k, v, p, scale = cache
    dv = np.swapaxes(p, -1, -2) @ dout
    dp = dout @ np.swapaxes(v, -1, -2)
    ds = p * (dp - np.sum(dp * p, -1, keepdims=True))
    dq = ds @ k * scale
    dk = np.swapaxes(ds, -1, -2) @ q * scale
    return dq, dk, dv


# layer: rope


class Rope(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, cos, sin):
        ctx.save_for_backward(cos, sin)
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    @staticmethod
    def backward(ctx, g):
        cos, sin = ctx.saved_tensors
        a, b = g.chunk(2, -1)
        return torch.cat([a * cos + b * sin, b * cos - a * sin], -1), None, None


def rope_forward(x, cos, sin):
    h = x.shape[-1] // 2
    a, b = x[..., :h], x[..., h:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1), (cos, sin)


def rope_backward(dout, cache):
    cos, sin = cache
    h = dout.shape[-1] // 2
    da, db = dout[..., :h], dout[..., h:]
    return np.concatenate([da * cos + db * sin, db * cos - da * sin], axis=-1)


# layer: rnn


class RnnCell(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, h, wx, wh, b):
        out = torch.tanh(x @ wx + h @ wh + b)
        ctx.save_for_backward(x, h, wx, wh, out)
        return out

    @staticmethod
    def backward(ctx, g):
        x, h, wx, wh, out = ctx.saved_tensors
        dz = g * (1 - out**2)
        return dz @ wx.t(), dz @ wh.t(), x.t() @ dz, h.t() @ dz, dz.sum(0)


def rnn_forward(x, h, wx, wh, b):
    next_h = np.tanh(x.dot(wx) + h.dot(wh) + b)
    return next_h, (x, h, wx, wh, next_h)


def rnn_backward(dnext_h, cache):
    x, prev_h, wx, wh, next_h = cache
    da = dnext_h * (1 - next_h * next_h)
    dx = da.dot(wx.T)
    dprev_h = da.dot(wh.T)
    return dx, dprev_h, x.T.dot(da), prev_h.T.dot(da), np.sum(da, axis=0)


# layer: lstm


class LstmCell(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, c):
        i, f, o, u = z.chunk(4, 1)
        i, f, o, u = i.sigmoid(), f.sigmoid(), o.sigmoid(), u.tanh()
        new = f * c + i * u
        ctx.save_for_backward(i, f, o, u, c, new)
        return o * new.tanh()

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        i, f, o, u, c, new = ctx.saved_tensors
        t = new.tanh()
        do = g * t * o * (1 - o)
        dc = g * o * (1 - t * t)
        di = dc * u * i * (1 - i)
        df = dc * c * f * (1 - f)
        du = dc * i * (1 - u * u)
        return torch.cat([di, df, do, du], 1), dc * f


def lstm_forward(z, c):
    h = c.shape[1]
    sig = lambda a: 1 / (1 + np.exp(-a))
    i, f, o = sig(z[:, :h]), sig(z[:, h : 2 * h]), sig(z[:, 2 * h : 3 * h])
    u = np.tanh(z[:, 3 * h :])
    new = f * c + i * u
    t = np.tanh(new)
    return o * t, (i, f, o, u, c, t)


def lstm_backward(dout, cache):
    i, f, o, u, c, t = cache
    dnew = dout * o * (1 - t**2)
    dz = np.hstack([dnew * u * i * (1 - i), dnew * c * f * (1 - f), dout * t * o * (1 - o), dnew * i * (1 - u**2)])
    return dz, dnew * f
