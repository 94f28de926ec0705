"""A server for the judges of this folder: a model that is trained here, and what it answers over bare sockets."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

DIGITS = "zero one two three four five six seven eight nine".split()


def program():
    """The program to be judged: the first argument, or the one of the last release build."""
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    target = os.environ.get("CARGO_TARGET_DIR", "target")
    return os.path.abspath(words[0] if words else f"{target}/release/train-gpt-modern")


def talks():
    """Conversations from which an answer follows."""
    for a in range(10):
        for b in range(10):
            question, answer = f"What is {DIGITS[a]} plus {DIGITS[b]}?", f"It is {a + b}."
            yield [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]


def trained(folder, name, *words):
    """A model of this name in the folder."""
    size = ["--arch", "llama", "--threads", "2"] + ([] if "--layers" in words else ["--layers", "2", "--dmodel", "64", "--seq", "128"])
    done = subprocess.run([program(), *size, *words, "--save", name], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return name


def stories(folder):
    return trained(folder, "stories", "--tokenizer", "bpe", "--vocab-size", "400", "--steps", "150")


def chats(folder):
    lines = [json.dumps({"messages": talk}) for talk in talks() for _ in range(3)]
    pathlib.Path(folder, "chats.jsonl").write_text("\n".join(lines), encoding="utf-8")
    words = ["--data", "chats.jsonl", "--data-as", "chats", "--tokenizer", "bpe", "--vocab-size", "400", "--steps", "300"]
    return trained(folder, "chats", *words)


@contextlib.contextmanager
def serving(folder, model, *words):
    """A running server; it has to end well."""
    command = [program(), "serve", "--load", model, "--port", "0", *words]
    with tempfile.TemporaryFile("w+") as said:
        server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=said, text=True)
        try:
            address = server.stdout.readline().strip()
            assert address.startswith("http://"), "it does not serve"
            server.address = address
            yield server
            assert server.poll() is None, "it ended by itself"
        finally:
            server.terminate()
            code = server.wait(10)
            said.seek(0)
            server.said = said.read()
    assert code == 0 and "panicked" not in server.said, server.said


def ask(server, path, body=None, headers=(), timeout=120):
    """Status and JSON."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(server.address + path, data, dict(headers))
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.load(refusal)


def memory(server):
    """Bytes that the process has in memory."""
    for line in pathlib.Path(f"/proc/{server.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return 0
