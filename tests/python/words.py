#!/usr/bin/env python3
"""The Python of docs/concepts/from_pytorch_and_mlx.md: every block runs, and its assertions hold.

Needs torch. .ci/deep runs it. (The Rust beside it is run by tests/docs/concepts/pytorch.rs; both languages of the page have
the same blocks.)
"""

import pathlib
import re
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "concepts" / "from_pytorch_and_mlx.md"


def main():
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if len(blocks) < 4:
        sys.exit(f"error: {PAGE} has {len(blocks)} blocks of Python")
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), {"torch": torch, "nn": nn, "F": F})
    print(f"{len(blocks)} blocks of Python hold")


if __name__ == "__main__":
    main()
