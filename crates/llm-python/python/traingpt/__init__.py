"""Train a small GPT on a CPU, look inside, take it to Hugging Face.

>>> import traingpt
>>> run = traingpt.Trainer("some text to learn. " * 500, n_layers=1, d_model=32, seq_len=32, steps=50)
>>> losses = run.train()["loss"]
>>> text = run.sample("some", 40)
"""

import os

# All that is used later, before the first signal: half imported it is of no use.
import numpy as _numpy

from . import _html, _progress
from ._traingpt import (
    DivergedError,
    Trainer,
    __version__,
    _after_fork,
    _before_fork,
    settings_help,
    stories,
)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
del os, _html, _numpy, _progress, _before_fork, _after_fork

__all__ = ["DivergedError", "Trainer", "__version__", "settings_help", "stories"]
