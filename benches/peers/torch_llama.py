"""A model of the Llama family in PyTorch, fp32, as a user would write it today: `torch_peer.py` runs it."""
import torch
from torch import nn
from torch.nn.functional import cross_entropy, rms_norm, scaled_dot_product_attention, silu


def angles(context, width, theta):
    """Cosines and sines of every position, [T, D/2] each."""
    pairs = theta ** (-torch.arange(0, width, 2) / width)
    angle = torch.outer(torch.arange(context), pairs)
    return angle.cos(), angle.sin()


def turned(x, cos, sin):
    """Rotary positions: channel i and channel i + D/2 are a pair."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class Layer(nn.Module):
    def __init__(self, width, heads, groups, inner):
        super().__init__()
        self.heads, self.groups, self.head_dim = heads, groups, width // heads
        self.gain1, self.gain2 = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(width))
        self.qkv = nn.Linear(width, (heads + 2 * groups) * self.head_dim, bias=False)
        self.proj = nn.Linear(width, width, bias=False)
        self.gate_up = nn.Linear(width, 2 * inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def split(self, x, cos, sin):
        """Queries [B, H, T, D], keys and values [B, G, T, D]; the first two turned."""
        b, t, _ = x.shape
        qkv = self.qkv(rms_norm(x, x.shape[-1:], self.gain1, 1e-5)).view(b, t, -1, self.head_dim).transpose(1, 2)
        q, k, v = qkv.split((self.heads, self.groups, self.groups), dim=1)
        return turned(q, cos, sin), turned(k, cos, sin), v

    def mlp(self, x):
        gate, up = self.gate_up(rms_norm(x, x.shape[-1:], self.gain2, 1e-5)).chunk(2, dim=-1)
        return x + self.down(silu(gate) * up)

    def forward(self, x, cos, sin):
        q, k, v = self.split(x, cos, sin)
        y = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.heads != self.groups)
        return self.mlp(x + self.proj(y.transpose(1, 2).reshape(x.shape)))


class Llama(nn.Module):
    def __init__(self, layers, heads, groups, width, inner, context, vocabulary):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Layer(width, heads, groups, inner) for _ in range(layers))
        self.gain = nn.Parameter(torch.ones(width))
        self.cos, self.sin = angles(context, width // heads, 10_000.0)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def head(self, x):
        return rms_norm(x, x.shape[-1:], self.gain, 1e-5) @ self.tokens.weight.T

    def forward(self, ids, targets):
        x, t = self.tokens(ids), ids.shape[1]
        for layer in self.layers:
            x = layer(x, self.cos[:t], self.sin[:t])
        return cross_entropy(self.head(x).flatten(0, 1), targets.flatten())


def writer(model, context):
    """A function from tokens [T] and the position of their first to the likeliest next token [1]."""
    layer = model.layers[0]
    kept = torch.zeros(len(model.layers), 2, layer.groups, context, layer.head_dim)

    def read(tokens, position):
        end = position + len(tokens)
        x = model.tokens(tokens)[None]
        for rows, layer in zip(kept, model.layers):
            q, k, v = layer.split(x, model.cos[position:end], model.sin[position:end])
            rows[0, :, position:end], rows[1, :, position:end] = k[0], v[0]
            k, v = rows[None, 0, :, :end], rows[None, 1, :, :end]
            y = scaled_dot_product_attention(q, k, v, is_causal=len(tokens) > 1, enable_gqa=layer.heads != layer.groups)
            x = layer.mlp(x + layer.proj(y.transpose(1, 2).reshape(x.shape)))
        return model.head(x[0, -1]).argmax()[None]

    return read
