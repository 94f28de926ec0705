#!/usr/bin/env python3
"""What the pages say of the built-in stories, measured again: parts of benches/measured.json.

    cargo build --release
    python benches/stories.py runs/stories    # about an hour on two cores; what is whole there stays as it is
    python benches/stories.py runs/stories causes    # one part alone

The default run of train-gpt-mha and what `inspect` finds in it; the default run of train-gpt; `compare` of one to eight
heads; what heads carry in five seeds of the default run; and the kind of fact that stays low, with more layers and steps.
What a step makes of the weights does not depend on how long it takes, so other work beside it does no harm: the seconds of
the first run are printed, and written down by hand.
"""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MEASURED = HERE / "measured.json"
PROGRAMS = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target")) / "release"
HEADS, SEEDS = "1,2,4,8", "5"
COLUMNS = ["previous", "word", "after", "answer"]
KINDS = ["thing", "found-item", "spot", "he-she", "receiver", "who-has", "other-person", "other-item"]
KIND = "other-person"  # the one that `inspect patch` takes by itself
MOST_OFF = 6
PEOPLE = ["Lucy", "Ruth", "Ella", "Jane", "Hugo", "Carl", "Kurt", "Finn"]
ASKED = 64  # stories that are asked about both of their things


def said(folder, name, program, *words):
    """What a program prints, kept in a file: it is not run again."""
    kept = folder / f"{name}.txt"
    kept.parent.mkdir(exist_ok=True)
    if not kept.exists():
        ran = subprocess.run([PROGRAMS / program, *words], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        kept.write_bytes(ran.stdout if "--json" in words else ran.stderr + ran.stdout)
    return kept.read_text()


def percent(share, digits=1):
    return round(100 * share, digits)


def readme(folder):
    shown = said(folder, "four", "train-gpt-mha", "--out", folder / "four")
    one = said(folder, "one", "train-gpt", "--out", folder / "one")
    loss, top1 = re.search(r"loss ([\d.]+) nats.*top-1 ([\d.]+) %", shown).groups()
    facts = re.search(r"facts   ([\d.]+) % .*one place ([\d.]+) % · two places ([\d.]+) %", shown).groups()
    guesses = re.search(r"most frequent word ([\d.]+) %, last mentioned ([\d.]+) %", shown).groups()
    best = json.loads((folder / "four" / "run.json").read_text())["best"]
    seconds = json.loads((folder / "four" / "run.json").read_text())["seconds"]
    print(f"the default run took {seconds:.1f} s here")
    numbers = {"loss": float(loss), "top1": float(top1), "facts": [float(x) for x in facts],
               "without_reading": [float(x) for x in guesses], "best": [best["step"], round(best["val_loss"], 4)],
               "story": re.search("^Lucy met.*$", shown, re.MULTILINE).group()}
    one_head = re.search(r"facts   ([\d.]+) %", one).group(1)
    other = [re.search(r"([\d.]+) % +[\d,]+ +2 +other-person", text).group(1) for text in (one, shown)]
    return {**numbers, "one_head": [round(float(x)) for x in (one_head, *other)]}


def inside(folder):
    heads = json.loads(said(folder, "heads", "train-gpt-mha", "inspect", "heads", "--load", folder / "four", "--json").splitlines()[-1])
    prune = json.loads(said(folder, "prune", "train-gpt-mha", "inspect", "prune", "--load", folder / "four", "--json").splitlines()[-1])
    name = lambda of: float(f"{of['layer']}.{of['head']}")
    shares = lambda scores: [percent(scores[column], None) for column in COLUMNS]
    order = {name(of): (i + 1, of) for i, of in enumerate(prune["greedy"])}
    rows = []
    for alone in prune["alone"]:
        number, then = order[name(alone)]
        rises = [round(of["loss"] - prune["loss"], 4) for of in (alone, then)]
        rows.append([name(alone), rises[0], percent(alone["facts_accuracy"]), number, rises[1], percent(then["facts_accuracy"])])
    for head in heads["heads"]:
        print(name(head), head["role"]["en"] or "-", "|", head["role"]["zh"] or "-")
    return {"heads": [[name(head), *shares(head["scores"])] for head in heads["heads"]], "even": shares(heads["uniform"]),
            "outputs": [round(heads["outputs"][1][which]["std"], 3) for which in ("concatenated", "projected")],
            "whole": [round(prune["loss"], 4), percent(prune["facts_accuracy"])], "prune": rows}


def compared(folder):
    """Tables of the comparison: losses, facts by kind, and what the rule concludes."""
    where = folder / "compare"
    said(folder, "compare", "train-gpt-mha", "compare", "--heads", HEADS, "--seeds", SEEDS, "--out", where)
    found = json.loads((where / "compare.json").read_text())["comparison"]
    rows = found["rows"]
    loss = [[row["n_heads"], row["head_dim"], *(round(x, 4) for x in spread(row["loss"]))] for row in rows]
    kinds = [kind for kind, _ in rows[0]["facts"]]
    of = {"all": [row["facts_total"] for row in rows]}
    of.update({kind: [dict(row["facts"])[kind] for row in rows] for kind in kinds})
    facts = [[kind] + [percent(x) for shares in of[kind] for x in spread(shares)[:2]] for kind in [*kinds, "all"]]
    for line in found["conclusion"]:
        print(line["en"])
    apart = {}
    for of in found["differences"]:
        scale, digits = (1, 4) if of["quantity"] == "val_loss" else (100, 1)
        p = max(round(of["p"], 4 if of["p"] < 0.01 else 2), 0.0001)
        row = apart.setdefault(of["quantity"], [of["quantity"]])
        row += [round(scale * of["mean"], digits), round(scale * of["half_width"], digits), p]
    rule = [len(found["differences"]), 5]
    return {"seeds": int(SEEDS), "rule": rule, "loss": loss, "facts": facts, "said": list(apart.values())}


def causes(folder):
    """What heads carry in five seeds, and what is left when heads go in four orders."""
    found = {key: [] for key in ("end", "everywhere", "who", "follows", "agree", "pairs")}
    says = []
    left = {order: [] for order in ("loss", "cause", "cause_other", "look")}
    for seed in range(1, int(SEEDS) + 1):
        where = folder / ("four" if seed == 1 else f"seed-{seed}")
        said(folder, where.name, "train-gpt-mha", "--seed", str(seed), "--threads", "1", "--out", where)
        patched = {kind: asked(folder, f"patch-{kind}-{seed}", where, "patch", "--fact", kind) for kind in KINDS}
        share = {kind: shares_of(patched[kind]) for kind in KINDS}
        at = lambda kind, name, where: round(share[kind][name, where]["put_in"], 2)
        row = lambda kind, names, where: [at(kind, name, where) for name in names]
        second = [f"1.{head}" for head in range(4)]
        turned = percent(share[KIND]["heads of 1", "last"]["turned"], None)
        carry = lambda kind, where: [float(name) for (name, at), of in share[kind].items()
                                     if at == where and of["what"] == "head" and of["carries"]]
        found["end"].append([seed, *row(KIND, [*second, "heads of 1", "MLP of 1"], "last"), turned, *carry(KIND, "last")])
        first = [f"0.{head}" for head in range(4)]
        found["everywhere"].append([seed, *row(KIND, [*first, "heads of 0", "MLP of 0"], "all"), *carry(KIND, "all")])
        of_who = patched["who-has"]
        found["who"].append([seed, of_who["pairs"], *row("who-has", [*second, "heads of 1", "MLP of 1"], "last"), *carry("who-has", "last")])
        says.append(who_said(folder, seed, where))
        found["follows"].append([seed, *who_follows(folder, seed, where)])
        found["pairs"].append([patched[kind]["pairs"] for kind in KINDS])
        found["agree"].append(max(abs(of["put_in"] - of["taken_out"]) for of in share[KIND].values()))
        if seed == 1:
            lines = [json.loads(line) for line in (where / "heads.jsonl").read_text().splitlines()]
            found["moments"] = [[of["step"], *(percent(x, None) for x in of["looks"][1]), *(round(x, 1) for x in of["moves"][1])]
                                for of in lines]
            found["paths"] = [[float("{}.{}".format(*of["from"])), *(round(x, 2) for x in of["shares"])] for of in patched[KIND]["paths"]]
            found["receivers"] = [float("{}.{}".format(*of)) for of in patched[KIND]["receivers"]]
            found["kinds"] = [[kind, patched[kind]["pairs"], *row(kind, [*second, "heads of 1"], "last"), *carry(kind, "last")] for kind in KINDS]
        names = first + second
        whole = asked(folder, f"prune-{seed}", where, "prune")
        looks = {f"{of['layer']}.{of['head']}": of["scores"]["answer"] for of in asked(folder, f"heads-{seed}", where, "heads")["heads"]}
        mean = lambda name: statistics.mean(share[kind][name, "all"]["put_in"] for kind in KINDS)
        orders = {"loss": [f"{of['layer']}.{of['head']}" for of in whole["greedy"]], "cause": sorted(names, key=mean),
                  "cause_other": sorted(names, key=lambda name: share[KIND][name, "all"]["put_in"]), "look": sorted(names, key=looks.get)}
        for order, heads in orders.items():
            print(seed, order, *heads)
            off = [asked(folder, f"off-{seed}-{'-'.join(sorted(heads[:n]))}", where, "prune", "--drop-heads", ",".join(sorted(heads[:n])))
                   for n in range(1, MOST_OFF + 1)]
            left[order].append([(of["dropped"]["facts_accuracy"], of["dropped"]["facts"][KIND]) for of in off])
    table = lambda which: [[n + 1, *(percent(x) for order in left for x in spread([of[n][which] for of in left[order]])[:2])]
                           for n in range(MOST_OFF)]
    found["who_said"] = [[name, *(round(x, 1) for x in spread([of[name] for of in says])[:2])] for name in sorted(says[0])]
    return {**found, "agree": round(max(found["agree"]), 2), "off": table(0), "off_other": table(1)}


def questions(folder, seed, where):
    """Unseen stories that ask who has a thing: the text up to the answer, the thing, both people, and the row of the answer."""
    kept = folder / f"tokens-{seed}.jsonl"
    if not kept.exists():
        said(folder, f"eval-{seed}", "train-gpt-mha", "eval", "--load", where, "--threads", "1", "--json", "--per-token", kept)
    stories = {}
    for row in map(json.loads, kept.open()):
        stories.setdefault(row["window"], []).append(row)
    for rows in stories.values():
        text = "?" + "".join("\n" if row["text"] == "\\n" else row["text"] for row in rows)
        asks = re.search(r" Who has the (\w+ \w+)\? (?=\w)", text)
        if not asks:
            continue
        # The first byte of a story is scored nowhere; the name that begins with it is told by the rest of it.
        rest, two = re.match(r"\?(\w+) met (\w+)", text).groups()
        one = next(name for name in PEOPLE if name.endswith(rest))
        yield one[0] + text[1:asks.end()], asks.start(), asks[1], [one, two], rows[asks.end() - 1]


def who_said(folder, seed, where):
    """Which questions of who has a thing are answered right, and what rules the answers agree with; in percent."""
    sums = {}
    count = lambda name, right: sums.setdefault(name, []).append(right)
    for text, end, thing, (one, two), row in questions(folder, seed, where):
        named = re.findall(rf"{one}|{two}", text[:end])
        told = [at.start() for at in re.finditer(thing, text[:end])]
        answer = one if row["text"] == one[0] else two
        right, says = row["rank"] == 1, next((name for name in (one, two) if name[0] == row["first_text"]), None)
        holds = holders(text[:end])
        state = "one of two is hidden" if len(holds) < 2 else "each has one" if len(set(holds.values())) == 2 else "one person has both"
        count(f"right, {state}", right)
        for other in ("one of two is hidden", "each has one", "one person has both"):
            count(f"are, {other}", state == other)
        count("neither", says is None)
        count("rule, nearest before the last mention", says == re.findall(rf"{one}|{two}", text[:told[-1]])[-1])
        count("rule, named last", says == named[-1])
        count("rule, first named of all", says == one)
        count("right, all", right)
        count(f"right, told {len(told)} times", right)
        count(f"right, the answer is {'' if named[-1] == answer else 'not '}named last", right)
        count(f"right, the answer is named {'first' if answer == one else 'second'} of all", right)
    return {name: 100 * statistics.mean(of) for name, of in sums.items()}


def who_follows(folder, seed, where):
    """Rules that the answers to who has a thing agree with, and the kinds of questions that are right; in percent."""
    found = []
    for text, end, _, people, _ in questions(folder, seed, where):
        holds = holders(text[:end])
        if len(found) == ASKED or len(holds) < 2 or set(holds.values()) != set(people):
            continue
        likely = []
        for n, thing in enumerate(holds):
            asks = f"{text[:end]} Who has the {thing}? "
            shown = said(folder / "asked", f"{seed}-{len(found)}-{n}", "train-gpt-mha", "generate", "--load", where, "--threads", "1",
                         "-q", "-n", "1", "--temp", "1", "--print-next-top", "20", "-p", asks)
            p = {name: float((re.findall(rf"p=([\d.]+) '{name[0]}'", shown) or [0])[0]) for name in people}
            likely.append((p[holds[thing]], p[next(name for name in people if name != holds[thing])]))
        found.append(likely)
    right = [[mine > yours for mine, yours in likely] for likely in found]
    moved = statistics.mean(sum(mine for mine, _ in likely) - 1 for likely in found)
    return [len(found), *(sum(sum(pair) == n for pair in right) for n in (2, 1, 0)), percent(moved, None)]


def holders(text):
    """The holder of each thing at the end of a story; a thing that is hidden has none."""
    holds, last = {}, None
    for sentence in re.split(r"(?<=\.) ", text):
        things = re.findall(r"(?:a|the) ((?:pink|grey|brown|silver|violet|tan) \w+)", sentence)
        first = sentence.split()[0]
        who = last if first in ("He", "She") else first
        if "hid the" in sentence:
            holds.pop(things[0])
        elif " gave " in sentence and things:
            holds[things[0]] = re.search(r"gave (\w+)", sentence)[1]
        elif sentence.startswith("So "):
            holds.update(dict.fromkeys(things, sentence.split()[1]))
        elif " had " in sentence or " found " in sentence:
            holds.update(dict.fromkeys(things, who))
        last = (re.findall("|".join(PEOPLE), sentence) or [last])[-1] if first not in ("He", "She") else last
    return holds


def who_has(folder):
    """The share of who-has answers that are right, in percent, with more layers and steps."""
    def right(name, *words):
        shown = said(folder, name, "train-gpt-mha", *words, "--threads", "1", "--out", folder / name)
        return float(re.search(r"([\d.]+) % +[\d,]+ +1 +who-has", shown).group(1))
    seeds = ["1", "2", "3"]
    return {"two": [right("four" if seed == "1" else f"seed-{seed}", "--seed", seed) for seed in seeds],
            "three": [right(f"three-{seed}", "--seed", seed, "--layers", "3") for seed in seeds],
            "twice": [right("twice-1", "--steps", "1600")],
            "long": [right(f"long-{seed}", "--seed", seed, "--steps", "2400") for seed in seeds],
            "three_long": [right("three_long-1", "--layers", "3", "--steps", "2400")]}


def asked(folder, name, where, verb, *words):
    """What a verb of `inspect` says of a run, as data."""
    text = said(folder, name, "train-gpt-mha", "inspect", verb, "--load", where, "--threads", "1", "--json", *words)
    return json.loads(text.splitlines()[-1])


def shares_of(patched):
    """The rows of `inspect patch` by the names of its table and by positions."""
    name = lambda of: {"head": f"{of['layer']}.{of['head']}", "heads": f"heads of {of['layer']}", "mlp": f"MLP of {of['layer']}",
                       "stream": f"before {of['layer']}"}[of["what"]]
    return {(name(of), of["at"]): of for of in patched["parts"]}


def spread(values):
    return [statistics.mean(values), statistics.stdev(values), min(values), max(values)]


def written(value, depth=1):
    """JSON with a line for each row of a table."""
    pad = "\n" + " " * depth
    if isinstance(value, dict):
        inner = [f"{pad}{json.dumps(key)}: {written(of, depth + 1)}" for key, of in value.items()]
        return "{" + ",".join(inner) + pad[:-1] + "}"
    if isinstance(value, list) and value and isinstance(value[0], list):
        return "[" + ",".join(pad + json.dumps(row, ensure_ascii=False) for row in value) + pad[:-1] + "]"
    return json.dumps(value, ensure_ascii=False)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    parts = {"readme": readme, "inside": inside, "compared": compared, "causes": causes, "who_has": who_has}
    found = {part: parts[part](folder) for part in sys.argv[2:] or parts}
    measured = json.loads(MEASURED.read_text())
    for part, numbers in found.items():
        measured.setdefault("inside" if part == "compared" else part, {}).update(numbers)
    MEASURED.write_text(written(measured) + "\n")


if __name__ == "__main__":
    main()
