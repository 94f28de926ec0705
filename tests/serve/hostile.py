#!/usr/bin/env python3
"""10,000 hostile requests to a server: cut, slow, huge, of a wrong host, of bad UTF-8, deep, and a thousand silent connections.

    python tests/serve/hostile.py [PROGRAM] [--requests=10000]

Meanwhile an honest client asks all the time: it is always answered, and always the same. The server's memory stays below
BOUND beside what it has at the start.
"""

import concurrent.futures
import random
import socket
import sys
import tempfile
import threading
import time

import served

REQUESTS = next((int(word.split("=")[1]) for word in sys.argv if word.startswith("--requests=")), 10_000)
BOUND = 256 << 20
SILENT = 1000
# Of an honest answer, while all that is under way on a machine of two cores.
PATIENCE = 30


def head(path, host, length, more=""):
    return f"POST {path} HTTP/1.1\r\nHost: {host}\r\n{more}Content-Length: {length}\r\n\r\n".encode()


def one(rng, host):
    """Bytes of a hostile request, and the statuses that are right for it; none where no answer is due."""
    paths = ["/v1/completions", "/v1/chat/completions", "/tokenize", "/attention"]
    path, port = rng.choice(paths), host.split(":")[1]

    def body(body, *right, more=""):
        return head(path, host, len(body), more) + body, right

    kind = rng.randrange(16)
    if kind == 0:  # cut anywhere
        whole = head(path, host, 40) + b'{"prompt": "once", "max_tokens": 5}     '
        return whole[: rng.randrange(len(whole))], ()
    if kind == 1:
        return head(path, host, rng.choice([10**7, 10**12, 10**19])), (413, 400)
    if kind == 2:
        return body(b" " * (1 << 20) + b"{}" + b" " * 10, 413)
    if kind == 3:
        wrong = rng.choice(["evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}", "", f"[::ffff:1.2.3.4]:{port}", f"localhost:{int(port) ^ 1}"])
        return head(path, wrong, 2) + b"{}", (403,)
    if kind == 4:
        return head(path, host, 2, f"Origin: {rng.choice(['null', 'http://evil.example', 'http://' + host + '.evil'])}\r\n") + b"{}", (403,)
    if kind == 5:
        return body(bytes(rng.randrange(256) for _ in range(rng.randrange(1, 500))), 400)
    if kind == 6:
        deep = rng.choice([b"[", b'{"prompt":', b'{"messages":[{"content":'])
        return body(deep * rng.choice([200, 5_000, 40_000]), 400)
    if kind == 7:
        return body(b'{"prompt": "\xff\xfe' + bytes([rng.randrange(128, 256)]) + b'"}', 400)
    if kind == 8:
        return body(b'{"prompt": [' + b"1," * rng.choice([500, 100_000]) + b'1], "tokens": 0}', 400)
    if kind == 9:
        fields = rng.choice(['"n": 10000000', '"max_tokens": -1', '"temperature": 1e400', '"seed": 1.5', '"stop": [[]]', '"logprobs": 1000000', '"best_of": 5', '"tools": [1]', '"prompt": {}', '"messages": [[]]', '"position": 1e9'])
        return body(('{"prompt": "a", ' + fields + "}").encode(), 400)
    if kind == 10:  # no HTTP
        return rng.choice([b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\0" * 100, b"\r\n" * 50, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]), ()
    if kind == 11:
        return head(path, host, 2, f"X: {'a' * rng.choice([20_000, 300_000])}\r\n"), (431, 400)
    if kind == 12:
        return head(path, host, 2, "".join(f"X-{i}: 1\r\n" for i in range(rng.choice([100, 2000])))), (431, 400)
    if kind == 13:
        way = rng.choice([f"GET /../../etc/passwd HTTP/1.1\r\nHost: {host}\r\n\r\n", f"PUT / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n", f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n", f"GET http://evil.example/ HTTP/1.1\r\nHost: {host}\r\n\r\n"])
        return way.encode(), (404, 405, 403, 200)
    if kind == 14:
        chunk = rng.choice([b"ffffffffffffffff\r\n", b"zz\r\n", b"-1\r\n", b"1\r\n"])
        return f"POST {path} HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + chunk, ()
    # a long answer that is not waited for
    body_ = b'{"prompt": "a", "max_tokens": 10000, "n": 64, "stream": true}'
    return head("/v1/completions", host, len(body_)) + body_, (200, 429)


def send(number, address):
    rng = random.Random(number)
    host = f"{address[0]}:{address[1]}"
    data, right = one(rng, host)
    try:
        with socket.create_connection(address, timeout=PATIENCE) as client:
            if rng.random() < 0.02:  # a byte at a time
                for byte in data[:40]:
                    client.sendall(bytes([byte]))
                    time.sleep(0.02)
                data = data[40:]
            client.sendall(data)
            if not right:
                client.shutdown(socket.SHUT_WR)
            answer = client.recv(64)
    except (ConnectionError, TimeoutError):
        return None
    if answer and right:
        status = int(answer.split()[1])
        assert status in right, (data[:200], status, right)
        return status
    return None


def main():
    with tempfile.TemporaryDirectory() as folder, served.serving(folder, served.stories(folder)) as server:
        host, port = server.address.removeprefix("http://").split(":")
        address = host, int(port)
        honest = {"prompt": "Once", "max_tokens": 8, "seed": 1}
        _, want = served.ask(server, "/v1/completions", honest)
        start, stop, asked, waited = served.memory(server), threading.Event(), [0], [0.0]

        def honestly():
            while not stop.is_set():
                begun = time.monotonic()
                try:
                    status, got = served.ask(server, "/v1/completions", honest, timeout=PATIENCE)
                except (ConnectionError, OSError):
                    continue  # it was idle longest among too many: a client asks again
                if status == 429:
                    continue
                assert (status, got) == (200, want), (status, got)
                asked[0] += 1
                waited[0] = max(waited[0], time.monotonic() - begun)

        with concurrent.futures.ThreadPoolExecutor(33) as pool:
            honest_client = pool.submit(honestly)
            statuses = {}
            for status in pool.map(lambda n: send(n, address), range(REQUESTS)):
                statuses[status] = statuses.get(status, 0) + 1
            silent = []
            for _ in range(SILENT):
                silent.append(socket.create_connection(address, timeout=PATIENCE))
            before = asked[0]
            time.sleep(5)
            assert asked[0] > before, "no honest request was answered beside silent connections"
            slow = [socket.create_connection(address, timeout=PATIENCE) for _ in range(200)]
            for byte in b"POST /v1/completions HTTP/1.1\r\n":
                for client in slow:
                    try:
                        client.send(bytes([byte]))
                    except OSError:
                        pass
                time.sleep(0.1)
            stop.set()
            honest_client.result()
            [client.close() for client in silent + slow]
        grown = served.memory(server) - start
        assert grown < BOUND, f"{grown} bytes"
        assert served.ask(server, "/v1/completions", honest)[1] == want
    print(f"{REQUESTS} hostile requests and {SILENT} silent connections: {asked[0]} honest ones were answered meanwhile, "
          f"the slowest after {waited[0]:.1f} s; memory grew by {grown >> 20} MiB at most; statuses {dict(sorted(statuses.items(), key=str))}")


if __name__ == "__main__":
    main()
