#!/usr/bin/env python3
"""Eight clients at once: each gets, byte for byte, what it gets alone, and no answer is another's.

    python tests/serve/crowd.py [PROGRAM] [--seconds=60]
"""

import itertools
import sys
import tempfile
import threading
import time
import urllib.request
import json

import served

SECONDS = next((float(word.split("=")[1]) for word in sys.argv if word.startswith("--seconds=")), 60)


def bytes_of(server, path, body):
    request = urllib.request.Request(server.address + path, json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=120) as answer:
        return answer.read()


def requests(server):
    """The requests of each client: questions that only its prompts answer, greedy ones, drawn ones and scores; alone."""
    talks = list(served.talks())
    for client in range(8):
        mine = []
        for i, (question, answer) in enumerate(talks[client::8]):
            chat = {"messages": [question], "temperature": 0, "seed": client}
            drawn = {"prompt": question["content"], "max_tokens": 20, "temperature": 1.2, "seed": 100 * client + i, "n": 1 + i % 3, "stream": i % 2 == 0}
            scores = {"prompt": question["content"] * (1 + client % 3), "max_tokens": 1, "echo": True, "logprobs": 2, "temperature": 0, "seed": client}
            for path, body in [("/v1/chat/completions", chat), ("/v1/completions", drawn), ("/v1/completions", scores)]:
                alone = bytes_of(server, path, body)
                if path.startswith("/v1/chat"):
                    said = json.loads(alone)["choices"][0]["message"]["content"].strip()
                    mine.append((path, body, alone, said == answer["content"]))
                else:
                    mine.append((path, body, alone, True))
        yield mine


def main():
    with tempfile.TemporaryDirectory() as folder, served.serving(folder, served.chats(folder), "--quiet") as server:
        clients = list(requests(server))
        right = [good for mine in clients for path, _, _, good in mine if path.startswith("/v1/chat")]
        assert sum(right) > 0.9 * len(right), f"only {sum(right)} of {len(right)} answers are right: no mixing would be seen"
        until, asked, faults = time.monotonic() + SECONDS, [0] * 8, []

        def run(number):
            for path, body, alone, _ in itertools.cycle(clients[number]):
                if time.monotonic() > until or faults:
                    return
                if bytes_of(server, path, body) != alone:
                    faults.append(f"client {number}: {body} got other bytes than alone")
                asked[number] += 1

        threads = [threading.Thread(target=run, args=[number]) for number in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert not faults, faults[0]
        assert min(asked) > 0
    print(f"8 clients asked {sum(asked)} times in {SECONDS:.0f} s: all bytes are those that each gets alone; {sum(right)} of {len(right)} sums were right")


if __name__ == "__main__":
    main()
