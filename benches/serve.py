#!/usr/bin/env python3
"""Tokens per second of a served model: 1, 2, 4 and 8 clients at once, beside the same texts one after the other.

    python benches/serve.py [PROGRAM] [--tokens=96]

The model has 25 million random weights, which no cache holds: its speed is that of a trained one. Of each row the best of
three; the server's own time on the processor is measured too, for a machine on which others compute.
"""

import concurrent.futures
import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "serve"))

import served

TOKENS = next((int(word.split("=")[1]) for word in sys.argv if word.startswith("--tokens=")), 96)
ROUNDS = 3


def seconds(server):
    """On the processor."""
    fields = pathlib.Path(f"/proc/{server.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def write(server, number):
    body = {"prompt": f"Story {number}", "max_tokens": TOKENS, "seed": number}
    status, answer = served.ask(server, "/v1/completions", body)
    assert status == 200, answer
    return answer["usage"]["completion_tokens"]


def speeds(server, clients, texts):
    """Tokens per second, and per second on the processor: the best of some rounds."""
    best = [0.0, 0.0]
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        for _ in range(ROUNDS):
            begun, before = time.monotonic(), seconds(server)
            tokens = sum(pool.map(lambda number: write(server, number), range(texts)))
            took = time.monotonic() - begun, max(seconds(server) - before, 1e-3)
            best = [max(best[i], tokens / took[i]) for i in range(2)]
    return best


def main():
    with tempfile.TemporaryDirectory() as folder:
        size = ["--layers", "8", "--dmodel", "512", "--heads", "8", "--seq", "256", "--batch", "1", "--steps", "1", "--gen", "0"]
        model = served.trained(folder, "model", "--tokenizer", "bpe", "--vocab-size", "400", *size)
        print("| weights | clients | tokens/s | beside one | a second of the processor |\n|---|---|---|---|---|")
        for weights in ["f32", "bf16", "q8", "q4"]:
            with served.serving(folder, model, "--weights", weights) as server:
                write(server, 0)
                one = None
                for clients in [1, 2, 4, 8]:
                    wall, own = speeds(server, clients, max(clients, 2))
                    one = one or wall
                    print(f"| {weights} | {clients} | {wall:.0f} | {wall / one:.2f} | {own:.0f} |", flush=True)


if __name__ == "__main__":
    main()
