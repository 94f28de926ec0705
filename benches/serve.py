#!/usr/bin/env python3
"""Tokens per second of a served model: 1, 2, 4 and 8 clients at once, beside the same texts one after the other.

    python benches/serve.py [PROGRAM] [--tokens=48]

The model has 25 million random weights, which no cache holds: its speed is that of a trained one. Of each row the best of
three; the server's own time on the processor is measured too, for a machine on which others compute. Where PyPI's xllamacpp
is installed, llama.cpp serves the same weights, from the file that `export gguf` writes, in turn with us.
"""

import concurrent.futures
import contextlib
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "serve"))

import served

TOKENS = next((int(word.split("=")[1]) for word in sys.argv if word.startswith("--tokens=")), 48)
ROUNDS = 3
CONTEXT = 256
CLIENTS = [1, 2, 4, 8]
# Our kinds of weights, and those of as many bits that GGUF is written with.
KINDS = {"f32": "f32", "bf16": "bf16", "q8": "q8_0", "q4": None}
PEER = """
import sys, time, xllamacpp
p = xllamacpp.CommonParams()
p.model.path, p.n_ctx, p.n_parallel, p.port = sys.argv[1], 8 * int(sys.argv[2]), 8, 0
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 2
server = xllamacpp.Server(p)
print(server.listening_address, flush=True)
time.sleep(1e6)
"""


def seconds(server):
    """On the processor."""
    fields = pathlib.Path(f"/proc/{server.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def write(server, number):
    body = {"prompt": f"Story {number}", "max_tokens": TOKENS, "seed": number}
    status, answer = served.ask(server, "/v1/completions", body)
    assert status == 200, answer
    return answer["usage"]["completion_tokens"]


@contextlib.contextmanager
def llama_cpp(folder, model, kind):
    """llama.cpp's server of the same weights."""
    file = f"{folder}/{kind}.gguf"
    command = [served.program(), "export", "gguf", "--load", model, "--type", kind, file]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    server = subprocess.Popen([sys.executable, "-c", PEER, file, str(CONTEXT)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        server.address = server.stdout.readline().strip()
        yield server
    finally:
        server.kill()
        server.wait()


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
        size = ["--layers", "8", "--dmodel", "512", "--heads", "8", "--seq", str(CONTEXT), "--batch", "1", "--steps", "1", "--gen", "0"]
        pathlib.Path(folder, "text").write_text("The quick brown fox jumps over the lazy dog. " * 100)
        model = served.trained(folder, "model", "--data", "text", "--tokenizer", "byte", *size)
        print("| weights | who | clients | tokens/s | beside one | a second of the processor |\n|---|---|---|---|---|---|")
        for weights, kind in KINDS.items():
            with contextlib.ExitStack() as stack:
                servers = {"serve": stack.enter_context(served.serving(folder, model, "--weights", weights))}
                if kind and importlib.util.find_spec("xllamacpp"):
                    servers["llama.cpp"] = stack.enter_context(llama_cpp(folder, model, kind))
                one = {}
                for clients in CLIENTS:
                    for who, server in servers.items():
                        write(server, 0)
                        wall, own = speeds(server, clients, max(clients, 2))
                        one.setdefault(who, wall)
                        print(f"| {weights} | {who} | {clients} | {wall:.0f} | {wall / one[who]:.2f} | {own:.0f} |", flush=True)


if __name__ == "__main__":
    main()
