"""How far a call of train() is: by tqdm where it is installed, else in one line of a terminal."""

import importlib.util
import sys
import time

try:
    from tqdm import tqdm  # type: ignore[import-untyped]
except ImportError:
    tqdm = None

# A call that is done before shows nothing.
QUICK = 1.0


class Quiet:
    def update(self, n, loss):
        pass

    def close(self):
        pass


class Line:
    def __init__(self, total):
        self.total, self.done, self.shown = total, 0, False
        self.begun = self.last = time.monotonic()

    def update(self, n, loss):
        self.done += n
        self.loss = loss
        now = time.monotonic()
        if now - self.begun < QUICK or now - self.last < 0.2:
            return
        self.last = now
        left = (now - self.begun) / self.done * (self.total - self.done)
        sys.stderr.write(f"\r{self.done}/{self.total} steps  loss={loss:.4f}  {left:.0f} s left   ")
        sys.stderr.flush()
        self.shown = True

    def close(self):
        if self.shown:
            took = time.monotonic() - self.begun
            sys.stderr.write(f"\r{self.done}/{self.total} steps  loss={self.loss:.4f}  {took:.0f} s       \n")


class Tqdm:
    def __init__(self, tqdm, total):
        self.bar = tqdm(total=total, unit="step", delay=QUICK, leave=False)

    def update(self, n, loss):
        self.bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
        self.bar.update(n)

    def close(self):
        self.bar.close()


def in_notebook():
    try:
        return get_ipython().__class__.__name__ == "ZMQInteractiveShell"  # noqa: F821
    except NameError:
        return False


def bar(total, wanted):
    """A bar for `total` steps, `wanted` or where somebody looks at it."""
    seen = in_notebook() or (sys.stderr is not None and sys.stderr.isatty())
    if wanted is False or (wanted is None and not seen) or total == 0:
        return Quiet()
    if tqdm is None:
        return Line(total)
    if in_notebook() and importlib.util.find_spec("ipywidgets") is not None:
        from tqdm.notebook import tqdm as widget  # type: ignore[import-untyped]

        return Tqdm(widget, total)
    return Tqdm(tqdm, total)
