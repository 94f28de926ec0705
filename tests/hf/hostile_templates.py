#!/usr/bin/env python3
"""Chat templates that want to break a program: deep, wide, endless, huge.

    python tests/hf/hostile_templates.py PROGRAM [WORD]      # those alone whose name holds the word

Each is the template of an imported model, which is then asked something and then tuned. Each time the program has to end
within 1 s and 100 MB: with exit code 65 and one line of at most 2000 bytes, or with 0 where a template does no harm. How
many were used is said. Needs no packages.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SECONDS, MEGABYTES, LINE = 1.0, 100.0, 2000
BAD_DATA = 65


def chains(n):
    """Expressions of one kind, `times` of them in a row."""
    return {
        "not": "{{ " + "not " * n + "1 }}", "sum": "{{ 1" + "+1" * n + " }}", "attributes": "{{ a" + ".a" * n + " }}",
        "filters": "{{ 'x'" + "|upper" * n + " }}", "calls": "{{ f" + "()" * n + " }}", "items": "{{ a" + "[0]" * n + " }}",
        "powers": "{{ 2" + "**2" * n + " }}", "joined": "{{ 'a'" + "~'a'" * n + " }}", "and": "{{ 1" + " and 1" * n + " }}",
        "or": "{{ 0" + " or 0" * n + " }}", "minus": "{{ " + "- " * n + "1 }}", "choices": "{{ " + "1 if 0 else " * n + "1 }}",
        "tests": "{{ 1" + " is defined" * n + " }}", "compared": "{{ 1" + " < 2" * n + " }}", "in": "{{ 1" + " in [1]" * n + " }}",
        "elif": "{% if 0 %}" + "{% elif 0 %}" * n + "{% endif %}", "brackets": "{{ " + "(" * n + "1" + ")" * n + " }}",
        "lists": "{{ " + "[" * n + "]" * n + " }}", "dicts": "{{ " + "{1:" * n + "1" + "}" * n + " }}",
        "if": "{% if 1 %}" * n + "a" + "{% endif %}" * n, "for": "{% for i in [1] %}" * n + "a" + "{% endfor %}" * n,
        "texts": "{{ 'x' }}" * n, "sets": "{% set a = 1 %}" * n,
    }


NEST = "{% set ns=namespace(x=[]) %}{% for i in range(90000) %}{% set ns.x=[ns.x] %}{% endfor %}"
LOOP = "{% set ns=namespace() %}{% set ns.a=ns %}"
TWICE = "{% set ns=namespace(x=[1,2,3,4]) %}{% for i in range(40) %}{% set ns.x=ns.x+ns.x %}{% endfor %}"
WIDE = "30000000000"
SINGLE = {
    "itself printed": LOOP + "{{ ns }}", "itself as json": LOOP + "{{ ns|tojson }}", "itself in a list": LOOP + "{{ [ns]|string }}",
    "itself compared": LOOP + "{{ ns == ns.a }}", "itself sorted": LOOP + "{{ [ns, ns.a]|sort }}",
    "nested, dropped": NEST + "a", "nested, printed": NEST + "{{ ns.x }}", "nested, compared": NEST + "{{ ns.x == [ns.x] }}",
    "nested, sorted": NEST + "{{ [ns.x, [ns.x]]|sort }}", "nested, json": NEST + "{{ ns.x|tojson }}",
    "nested dicts": NEST.replace("[ns.x]", "{'a': ns.x}").replace("=[]", "={}") + "{{ ns.x }}",
    "doubled lists": TWICE + "{{ ns.x|list|length }}", "doubled lists, length": TWICE + "{{ ns.x|length }}",
    "doubled text": TWICE.replace("[1,2,3,4]", "'abcd'") + "{{ ns.x }}", "doubled by ~": TWICE.replace("[1,2,3,4]", "'abcd'").replace("+", "~") + "{{ ns.x }}",
    "doubled by format": TWICE.replace("[1,2,3,4]", "'abcd'").replace("ns.x+ns.x", "'%s%s' % (ns.x, ns.x)") + "{{ ns.x }}",
    "doubled by replace": TWICE.replace("[1,2,3,4]", "'aaaa'").replace("ns.x+ns.x", "ns.x.replace('a','aa')") + "{{ ns.x }}",
    "doubled by join": TWICE.replace("[1,2,3,4]", "'aaaa'").replace("ns.x+ns.x", "[ns.x,ns.x]|join") + "{{ ns.x }}",
    "wide by format": "{{ '{:" + WIDE + "d}'.format(1) }}", "wide by %": "{{ '%" + WIDE + "d' % 1 }}", "wide by a filter": "{{ '%" + WIDE + "d'|format(1) }}",
    "precise by format": "{{ '{:." + WIDE + "f}'.format(1) }}", "precise by %": "{{ '%." + WIDE + "f' % 1 }}",
    "wide by an argument": "{{ '{:{}d}'.format(1, " + WIDE + ") }}", "wide by a star": "{{ '%*d' % (" + WIDE + ", 1) }}",
    "center": "{{ 'x'|center(" + WIDE + ") }}", "center, a method": "{{ 'x'.center(" + WIDE + ") }}", "ljust": "{{ 'x'.ljust(" + WIDE + ") }}",
    "zfill": "{{ '1'.zfill(" + WIDE + ") }}", "indent": "{{ 'x\n'|indent(" + WIDE + ", true) }}", "indent of json": "{{ [1]|tojson(indent=" + WIDE + ") }}",
    "repeated": "{{ 'x' * " + WIDE + " }}", "repeated list": "{{ [1] * " + WIDE + " }}", "batch": "{{ [1]|batch(" + WIDE + ", 1)|list }}",
    "slice": "{{ [1]|slice(" + WIDE + ")|list }}", "expandtabs": "{{ '\t'.expandtabs(" + WIDE + ") }}", "range": "{{ range(" + WIDE + ")|list }}",
    "power": "{{ 10**10**8 }}", "shift of powers": "{{ (10**1000000)|string }}",
    "loops": "{% for i in range(90000) %}{% for j in range(90000) %}{% for k in range(90000) %}{% endfor %}{% endfor %}{% endfor %}",
    "loops that write": "{% for i in range(90000) %}{% for j in range(90000) %}xxxxxxxxxxxxxxxxxxxxxxxx{% endfor %}{% endfor %}",
    "a macro that calls itself": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "a macro that calls itself twice": "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "a loop that calls itself": "{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}",
    "include": "{% include '/etc/passwd' %}", "import": "{% import '/etc/passwd' as x %}", "extends": "{% extends '/etc/passwd' %}",
    "10 MB of text": "a" * 10_000_000, "9.9 MB of texts": "{{ 'x' }}" * 1_100_000, "nothing": "{% if 0 %}x{% endif %}", "no template": "{{",
    "control bytes": "{{ raise_exception('\x1b[2J\x07\x00') }}", "a long exception": "{{ raise_exception('x' * 100000) }}",
}


def templates():
    yield from SINGLE.items()
    for n in (4_000, 100_000, 200_000):
        for name, template in chains(n).items():
            yield f"{n} of {name}", template


def measured(words, given, folder):
    """Exit code, standard error, seconds, megabytes."""
    begun = time.monotonic()
    with open(folder / "said", "w+b") as said:
        running = subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said, cwd=folder)
        try:
            running.stdin.write(given)
            running.stdin.close()
        except BrokenPipeError:
            pass
        while True:
            pid, status, used = os.wait4(running.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - begun > 20:
                running.kill()
            time.sleep(0.005)
        running.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        return running.returncode, said.read(), time.monotonic() - begun, used.ru_maxrss / 1024


def faults(found):
    code, said, seconds, megabytes = found
    wrong = []
    if code not in (0, BAD_DATA):
        wrong.append(f"exit code {code}")
    if seconds > SECONDS:
        wrong.append(f"{seconds:.1f} s")
    if megabytes > MEGABYTES:
        wrong.append(f"{megabytes:.0f} MB")
    lines = said.splitlines()
    errors = [line for line in lines if line.startswith(b"error")]
    if code == BAD_DATA and (len(errors) != 1 or lines[-1] != errors[0]):
        wrong.append(f"{len(errors)} lines of an error")
    if any(len(line) > LINE for line in lines):
        wrong.append(f"a line of {max(map(len, lines))} bytes")
    if any(byte < 32 for line in lines for byte in line if byte != 9):
        wrong.append("control bytes")
    return wrong


def main():
    program, word = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2] if len(sys.argv) > 2 else ""
    failed = count = used = 0
    with tempfile.TemporaryDirectory(prefix="hostile-") as work:
        folder = pathlib.Path(work)
        (folder / "text").write_text("".join(f"a line of text, the number {n} of many lines\n" for n in range(400)))
        talk = {"messages": [{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "it is 2."}]}
        (folder / "chats.jsonl").write_text((json.dumps(talk) + "\n") * 60)
        sizes = ["--dmodel", 16, "--heads", 2, "--layers", 1, "--seq", 128, "--batch", 2, "--steps", 2]
        for words in (["--data", "text", "--tokenizer", "bpe", "--vocab-size", 300, "--arch", "llama", *sizes, "-n", 0, "--save", "run", "-q"],
                      ["export", "hf", "--load", "run", "hf"]):
            subprocess.run([program, *map(str, words)], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        config = folder / "hf" / "tokenizer_config.json"
        known = json.loads(config.read_text())
        for stale in (folder / "hf").glob("*.jinja"):
            stale.unlink()
        for name, template in templates():
            if word not in name:
                continue
            config.write_text(json.dumps(known | {"chat_template": template}))
            (folder / "model").unlink(missing_ok=True)
            ways = {"import": (["import", "hf", "hf", "--save", "model"], b""), "chat": (["chat", "--load", "model", "-n", 8], b"hi\n"),
                    "training": (["--load", "model", "--data", "chats.jsonl", "--steps", 1, "--no-save"], b"")}
            for way, (words, given) in ways.items():
                found = measured([program, *words], given, folder)
                count += 1
                wrong = faults(found)
                used += way != "import" and found[0] == 0
                if wrong:
                    failed += 1
                    last = (found[1].splitlines() or [b""])[-1][:160].decode(errors="replace")
                    print(f"{name}, {way}: {', '.join(wrong)}: {last}", flush=True)
                if way == "import" and found[0] != 0:
                    break
    print(f"{count} runs, {used} in which the template was used, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
