"""What .ci/kill-loop, .ci/soak and .ci/several-processes share: a program, a small text, a folder to work in."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXT = "text.txt"
# A step takes about as long as its save, so that a random moment is often inside one.
SIZES = "--seq 32 --dmodel 64 --layers 2 --batch 4".split()


# Begun in the background by a shell, this has SIGINT ignored, and so would all that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def fail(what):
    sys.exit(f"error: {what}")


class Trainer:
    """Runs the program in a folder that goes away at the end, unless something failed."""

    def __init__(self, seed, program="train-gpt"):
        if os.name != "posix":
            fail("signals are needed; nothing was run")
        subprocess.run(["cargo", "build", "-q", "--release", "--locked", "-p", program], cwd=ROOT, check=True)
        target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
        self.program = (ROOT / target / "release" / program).resolve()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="train-gpt-"))
        self.random = random.Random(seed)
        print(f"folder {self.folder}, seed {seed}", flush=True)
        words = ["the ", "cat ", "sat ", "on ", "a ", "mat.\n", "where ", "is ", "it? "]
        source = random.Random(1)
        text = "".join(source.choice(words) for _ in range(5000))
        (self.folder / TEXT).write_text(text)

    def start(self, words):
        """Starts training; what it says goes to a file."""
        with open(self.folder / "log.txt", "wb") as log:
            return subprocess.Popen([self.program, *words], cwd=self.folder, stdout=subprocess.DEVNULL,
                                    stderr=log, stdin=subprocess.DEVNULL)

    def log(self):
        return (self.folder / "log.txt").read_text(errors="replace")

    def run(self, words, **variables):
        """Runs it to its end, which must be a good one; the result is all it says."""
        done = subprocess.run([self.program, *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600,
                              env={**os.environ, **variables})
        said = done.stdout.decode(errors="replace")
        if done.returncode != 0:
            fail(f"exit code {done.returncode} from {' '.join(map(str, words))}:\n{said}")
        return said

    def stop(self, child, seconds, number):
        """Sends a signal after a while; the exit code, negative when the signal killed."""
        try:
            child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.send_signal(number)
        try:
            return child.wait(timeout=60)
        except subprocess.TimeoutExpired:
            child.kill()
            fail(f"still at work a minute after {signal.Signals(number).name}:\n{self.log()}")

    def wait_for(self, path, child):
        """Waits until the file is there."""
        end = time.monotonic() + 60
        while not (self.folder / path).exists():
            if child.poll() is not None or time.monotonic() > end:
                fail(f"no {path}:\n{self.log()}")
            time.sleep(0.005)

    def clean(self):
        shutil.rmtree(self.folder)
