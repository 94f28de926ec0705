"""A Modelfile, read by the rules of Ollama's own parser; its TEMPLATE rendered by Go's text/template.

Reference: docs/modelfile.mdx of Ollama, and its package parser: a name of letters, a blank, a value up to the end of the line
where what begins with `"` or three of them is closed. Other lines are refused, and so are unknown commands and parameters.
"""

import json
import pathlib
import shutil
import subprocess

COMMANDS = {"from", "license", "template", "system", "adapter", "draft", "renderer", "parser", "parameter", "message", "requires"}
PARAMETERS = {"num_ctx": int, "num_predict": int, "num_keep": int, "seed": int, "top_k": int, "repeat_last_n": int, "temperature": float,
              "top_p": float, "min_p": float, "typical_p": float, "repeat_penalty": float, "presence_penalty": float,
              "frequency_penalty": float, "stop": str}
ROLES = {"system", "user", "assistant"}
BLANKS, ENDS = " \t", "\r\n"
GO = pathlib.Path(__file__).with_name("ollama_template.go")


class Refused(Exception):
    """What Ollama would not read."""


def unquoted(value):
    """What stands between quotes; none while they are open."""
    for mark in ('"""', '"'):
        if value.startswith(mark):
            return value[len(mark):-len(mark)] if len(value) >= 2 * len(mark) and value.endswith(mark) else None
    return value


def letters(name):
    return name.isascii() and name.isalpha()


def commands(text):
    """Pairs of a name, in small letters, and its value."""
    found, at, line = [], 0, 1
    text = text.removeprefix("\ufeff")

    def word(ok, what):
        nonlocal at
        begun = at
        while at < len(text) and text[at] not in BLANKS:
            if not ok(text[at]):
                raise Refused(f"line {line}: {what} {text[begun:at + 1]!r}")
            at += 1
        at += 1
        if at > len(text):
            raise Refused(f"line {line}: {text[begun:]!r} is followed by nothing")
        return text[begun:at - 1]

    while at < len(text):
        if text[at] in BLANKS + ENDS:
            line += text[at] in ENDS
            at += 1
            continue
        if text[at] == "#":
            while at < len(text) and text[at] not in ENDS:
                at += 1
            continue
        name = word(letters, "no command is").lower()
        if name not in COMMANDS:
            raise Refused(f"line {line}: {name!r} is no command")
        if name == "parameter":
            name = "parameter " + word(lambda c: letters(c) or c in "0123456789_", "no parameter is")
        elif name == "message":
            role = word(letters, "no role is")
            if role not in ROLES:
                raise Refused(f"line {line}: {role!r} is no role")
            name = "message " + role
        # Up to a line's end where no quote is open. Within it, what cannot be printed is left out.
        value, begun = "", line
        while True:
            if at == len(text) or text[at] in ENDS:
                done = unquoted(value.strip())
                if done is not None:
                    break
                if at == len(text):
                    raise Refused(f"line {begun}: a quote is open to the end of the file")
                line += 1
                value += text[at]
            elif text[at] in BLANKS or text[at].isprintable():
                value += text[at]
            at += 1
        found.append((name, done))
    return found


class Modelfile:
    def __init__(self, path):
        self.template, self.system, self.parameters = None, None, {}
        files = []
        for name, value in commands(path.read_text(encoding="utf-8")):
            kind, _, parameter = name.partition(" ")
            if kind == "from":
                files.append(path.parent / value)
            elif kind == "parameter":
                if parameter not in PARAMETERS:
                    raise Refused(f"unknown parameter '{parameter}'")
                try:
                    self.parameters.setdefault(parameter, []).append(PARAMETERS[parameter](value))
                except ValueError:
                    raise Refused(f"PARAMETER {parameter}: {value!r} is no {PARAMETERS[parameter].__name__}") from None
            elif kind in ("template", "system"):
                setattr(self, kind, value)
            else:
                raise Refused(f"a command nobody asked for: {name} {value!r}")
        if len(files) != 1 or not files[0].is_file():
            raise Refused(f"FROM names {[str(file) for file in files]}, which is not one file that is there")
        self.file = files[0]


def can_render():
    return shutil.which("go") is not None


def rendered(template, messages, folder):
    """The prompt that Ollama makes of them."""
    program = folder / "ollama_template"
    if not program.exists():
        made = subprocess.run(["go", "build", "-o", program, GO], capture_output=True, text=True)
        if made.returncode != 0:
            raise Refused(f"go: {made.stderr}")
    asked = json.dumps({"template": template, "messages": messages})
    done = subprocess.run([program], input=asked, capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused(f"TEMPLATE: {done.stderr.strip()}")
    return done.stdout
