"""What the tests share: small texts, small trainers, the programs where they are built.

TRAINGPT_PROGRAMS: a folder with train-gpt-mha and train-gpt-modern; without it those of target/release
of the repository are taken, and where there are none, tests against them are skipped.
"""

import os
import pathlib
import subprocess

import pytest
import traingpt

ROOT = pathlib.Path(__file__).resolve().parents[3]
SMALL = dict(heads=2, n_layers=2, d_model=32, seq_len=32, batch_size=4, steps=12)


def programs():
    target = os.environ.get("CARGO_TARGET_DIR", ROOT / "target")
    return pathlib.Path(os.environ.get("TRAINGPT_PROGRAMS", pathlib.Path(target) / "release"))


@pytest.fixture
def program(tmp_path):
    """Runs one of the programs in a folder of its own."""

    def run(name, *arguments):
        path = programs() / name
        if not path.exists():
            pytest.skip(f"no {path}: cargo build --release -p {name}")
        done = subprocess.run(
            [path, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.fixture(scope="session")
def text():
    return traingpt.stories(400)


@pytest.fixture
def book(tmp_path, text):
    path = tmp_path / "book.txt"
    path.write_bytes(text.encode())
    return path


@pytest.fixture
def small(text):
    """A trainer that has not begun."""
    return traingpt.Trainer(text, **SMALL)
