from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict, Union, final, type_check_only

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import NotRequired, Self, TypeAlias, Unpack

__all__ = ["DivergedError", "Trainer", "__version__", "settings_help", "stories"]

__version__: str

_Path: TypeAlias = Union[str, PathLike[str]]
"""The name of a file to write or load."""

_Message: TypeAlias = Mapping[str, Any]
"""What somebody says: `role` and `content`."""

_Chats: TypeAlias = Union[Sequence[Mapping[str, Any]], Sequence[Sequence[_Message]]]
"""Conversations: `{"messages": [..]}` each, or their messages."""

_Data: TypeAlias = Union[
    str, bytes, bytearray, PathLike[str], Sequence[PathLike[str]], _Chats, ArrayLike
]
"""A text, its bytes, a file or folder of it, several of them, conversations, or a row of token numbers."""

_Tokens: TypeAlias = Union[str, bytes, bytearray, ArrayLike]
"""A text, or token numbers."""

_Hooks: TypeAlias = Iterable[
    tuple[str, Callable[[NDArray[np.float32], str], Union[ArrayLike, None]]]
]
"""Names of places in a model, and what is called there with `[T, N]` and the name."""

_Answer: TypeAlias = Union[_Tokens, int]
"""A text, of which the first token counts, or a token number."""

_Head: TypeAlias = tuple[int, int]
"""A head: its layer, and its number there."""

@type_check_only
class Run(TypedDict, total=False):
    # How a run learns.
    steps: int | None
    batch_size: int | None
    accum: int | None
    lr: float | None
    min_lr: float | None
    warmup_steps: int | None
    decay_steps: int | None
    schedule: Literal["constant", "cosine", "linear", "wsd"] | None
    optimizer: Literal["adamw", "lion", "muon"] | None
    beta1: float | None
    beta2: float | None
    weight_decay: float | None
    decay_all: bool | None
    clip: float | None
    matmul: Literal["f32", "bf16", "f16"] | None
    loss_on: Literal["answers", "all"] | None
    order: Literal["random", "passes"] | None
    seed: int | None
    val_frac: float | None
    seq_len: int | None
    dropout: float | None

@type_check_only
class Settings(Run, total=False):
    # What a model is.
    d_model: int | None
    n_layers: int | None
    heads: int | None
    norm_affine: bool | None
    tied_head: bool | None
    head_bias: bool | None
    activation: Literal["gelu_tanh", "gelu"] | None
    n_inner: int | None
    init: Literal["fan-in", "gpt2", "zero-out", "zero-head"] | None
    # What only modern ones have.
    norm: Literal["layer", "rms"] | None
    mlp: Literal["gelu", "swiglu", "relu2"] | None
    mlp_bias: bool | None
    positions: Literal["learned", "none", "rotary"] | None
    ngrams: Sequence[int] | str | None
    ngram_rows: int | None
    kv_heads: int | None
    head_dim: int | None
    rope_theta: float | None
    rotary_dim: int | None
    window: int | None
    soft_cap: float | None
    qk_norm: bool | None
    attention_bias: bool | None

@type_check_only
class Report(TypedDict):
    step: int
    loss: float
    lr: float
    grad_norm: float

@type_check_only
class History(TypedDict):
    step: NDArray[np.int64]
    loss: NDArray[np.float32]
    lr: NDArray[np.float32]
    grad_norm: NDArray[np.float32]
    val_step: NotRequired[NDArray[np.int64]]
    val_loss: NotRequired[NDArray[np.float64]]

@type_check_only
class Evaluation(TypedDict):
    loss: float
    perplexity: float
    accuracy: float
    scored: int
    bits_per_byte: NotRequired[float]
    facts: NotRequired[dict[str, float]]
    facts_accuracy: NotRequired[float]

@type_check_only
class HeadRole(TypedDict):
    layer: int
    head: int
    role: str | None
    off: bool
    scores: dict[str, float]
    even: dict[str, float]

@type_check_only
class Pruned(TypedDict):
    loss: float
    alone: list[tuple[tuple[int, int], float]]
    greedy: list[tuple[tuple[int, int], float]]

@type_check_only
class LogitLens(TypedDict):
    first: NDArray[np.int64]
    p: NDArray[np.float64]
    p_next: NDArray[np.float64]

@type_check_only
class Shares(TypedDict):
    put_in: NDArray[np.float64]
    taken_out: NDArray[np.float64]
    turned: NDArray[np.bool_]

@type_check_only
class PartShares(TypedDict):
    heads: Shares
    all_heads: Shares
    mlps: Shares

@type_check_only
class Patched(TypedDict):
    clean: list[str]
    other: list[str]
    answers: tuple[int, int]
    answer_texts: tuple[str, str]
    differences: tuple[float, float]
    right: bool
    end: PartShares
    everywhere: PartShares
    stream: Shares
    receivers: list[_Head]
    paths: dict[_Head, dict[_Head, float]]

@type_check_only
class MeanShares(TypedDict):
    put_in: NDArray[np.float64]
    put_in_sd: NDArray[np.float64]
    taken_out: NDArray[np.float64]
    taken_out_sd: NDArray[np.float64]
    turned: NDArray[np.float64]
    carries: NDArray[np.bool_]

@type_check_only
class PartMeans(TypedDict):
    heads: MeanShares
    all_heads: MeanShares
    mlps: MeanShares

@type_check_only
class StreamMeans(TypedDict):
    changed: MeanShares
    between: MeanShares
    end: MeanShares

@type_check_only
class Explained(TypedDict):
    kind: str
    tried: int
    right: int
    end: PartMeans
    everywhere: PartMeans
    stream: StreamMeans
    receivers: list[_Head]
    paths: dict[_Head, dict[_Head, float]]

class DivergedError(ArithmeticError): ...

@final
class Trainer:
    def __new__(
        cls,
        data: _Data | None = None,
        *,
        attention: Literal["single-head", "multi-head", "modern"] | None = None,
        arch: Literal["baseline", "gpt2", "llama", "qwen3"] | None = None,
        tokenizer: Literal["byte", "char", "bpe"] | _Path | None = None,
        vocab_size: int | None = None,
        val: _Data | None = None,
        epochs: float | None = None,
        preset: Literal["original"] | None = None,
        data_as: Literal["text", "bytes", "u16", "chats"] | None = None,
        end_of_text: Literal["none", "files", "marked"] | None = None,
        out: _Path | None = None,
        device: str | None = None,
        eval_every: int | None = None,
        save_every: int | None = None,
        patience: int | None = None,
        skip_spikes: float | None = None,
        threads: int | None = None,
        **settings: Unpack[Settings],
    ) -> Self: ...
    def train(
        self,
        steps: int | None = None,
        callback: Callable[[Trainer, Report], bool | None] | None = None,
        *,
        every: int = 1,
        lr: float | None = None,
        progress: bool | None = None,
    ) -> History: ...
    def evaluate(self, data: _Data | None = None, *, tokens: int | None = None) -> Evaluation: ...
    def sample(
        self,
        prompt: _Tokens | None = None,
        n: int | None = None,
        *,
        temperature: float | None = None,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        repetition_penalty: float = 1.0,
        seed: int | None = None,
        stop: str | Sequence[str] | None = None,
        fwd_hooks: _Hooks | None = None,
    ) -> str: ...
    def generate(
        self,
        prompt: _Tokens | None = None,
        n: int | None = None,
        *,
        temperature: float | None = None,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        repetition_penalty: float = 1.0,
        seed: int | None = None,
        fwd_hooks: _Hooks | None = None,
    ) -> NDArray[np.int64]: ...
    def chat(
        self,
        messages: str | list[_Message],
        *,
        max_new_tokens: int = 512,
        temperature: float = 0.7,
        top_k: int = 0,
        top_p: float = 0.95,
        seed: int | None = None,
        system: str | None = None,
    ) -> str: ...
    def logits(self, data: _Tokens) -> NDArray[np.float32]: ...
    def loss_and_gradients(
        self, inputs: _Tokens, targets: _Tokens | None = None
    ) -> tuple[float, dict[str, NDArray[np.float32]]]: ...
    def batch(self, step: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
    def attention(self, data: _Tokens) -> tuple[list[str], NDArray[np.float32]]: ...
    def run_with_cache(
        self, data: _Tokens
    ) -> tuple[NDArray[np.float32], dict[str, NDArray[np.float32]]]: ...
    def run_with_hooks(self, data: _Tokens, fwd_hooks: _Hooks) -> NDArray[np.float32]: ...
    def logit_lens(self, data: _Tokens) -> LogitLens: ...
    def patch(
        self, clean: _Tokens, other: _Tokens, answers: tuple[_Answer, _Answer] | None = None
    ) -> Patched: ...
    def explain_facts(
        self,
        kind: Literal[
            "thing", "found-item", "spot", "he-she", "receiver", "who-has", "other-person", "other-item"
        ] = "other-person",
        pairs: int = 64,
    ) -> Explained: ...
    def head_roles(self, data: _Data | None = None, *, tokens: int = 16384) -> list[HeadRole]: ...
    def prune_heads(
        self, data: _Data | None = None, *, most: int | None = None, tokens: int = 65536
    ) -> Pruned: ...
    def without_heads(self, heads: Sequence[tuple[int, int]]) -> Trainer: ...
    def state_dict(self) -> dict[str, NDArray[np.float32]]: ...
    def load_state_dict(self, state: Mapping[str, ArrayLike]) -> None: ...
    def set_data(
        self, data: _Data, *, val: _Data | None = None, allow_data_change: bool = False
    ) -> None: ...
    def save(self, path: _Path, *, optimizer: bool = True) -> None: ...
    @classmethod
    def load(
        cls,
        path: _Path,
        data: _Data | None = None,
        *,
        val: _Data | None = None,
        allow_data_change: bool = False,
        lora: int | None = None,
        base: _Path | None = None,
        threads: int | None = None,
        **settings: Unpack[Run],
    ) -> Trainer: ...
    @classmethod
    def from_hf(
        cls,
        folder: _Path,
        data: _Data | None = None,
        *,
        lora: int | None = None,
        threads: int | None = None,
        **settings: Unpack[Run],
    ) -> Trainer: ...
    @classmethod
    def from_gguf(
        cls,
        path: _Path,
        data: _Data | None = None,
        *,
        lora: int | None = None,
        threads: int | None = None,
        **settings: Unpack[Run],
    ) -> Trainer: ...
    def to_hf(self, folder: _Path) -> None: ...
    def to_peft(self, folder: _Path) -> None: ...
    def to_gguf(self, path: _Path, *, stored: Literal["f32", "bf16", "q8_0"] = "f32") -> None: ...
    def encode(self, text: str) -> NDArray[np.int64]: ...
    def decode(self, tokens: ArrayLike) -> str: ...
    @property
    def vocabulary(self) -> list[str]: ...
    @property
    def step(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def parameters(self) -> int: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def threads(self) -> int: ...
    @property
    def history(self) -> History: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def settings(self) -> dict[str, Any]: ...
    def __copy__(self) -> Trainer: ...
    def __deepcopy__(self, memo: object = None) -> Trainer: ...
    def _repr_html_(self) -> str: ...

def stories(count: int | None = None, seed: int | None = None) -> str: ...
def settings_help() -> str: ...
