#!/usr/bin/env python3
"""How far many machines carry: what a step costs on R of them, from rates that were measured on one.

    python benches/many_machines.py              # the tables of docs/many_machines.md, from benches/measured.json
    python benches/many_machines.py --json       # the same numbers, not rounded
    python benches/many_machines.py --write      # put the tables into both pages, after new measurements
    python benches/many_machines.py --step-ms 90 --update-ms 2 --parameters 3e6 --tokens 4096    # sizes of your own

A step of R processes with m micro-batches each takes

    m · t_b · (1 + σ √(2 ln R)) + t_u + t_s · 2 (R − 1)/R + max(w − (1 − f) · b · t_b, e · w)

    with w = messages · α + bytes / rate

t_b: forward and backward of a micro-batch; t_u: clipping and AdamW; t_s: the sum between two processes of one
machine, where no wire is in the way: copying and adding. Messages and bytes are those that each process sends;
tests/many_machines counts them. b: the share of t_b that is backward. In that of the last micro-batch gradients go to
the others as they are finished, in buckets: f is the share of the first one, e that of those which are complete only at
the end. With --shard-optimizer t_u is divided by R, and the second half of w begins after the update.

In benches/measured.json, `many.sums` has a row for each measured sum of a workload's gradients over two processes
of one machine: workload, library, milliseconds of our sum, of the library's MPI_Allreduce, of copying as many
bytes; `.ci/mpi time` prints them. The first row of a workload is its t_s; without one t_s counts as nothing. With the first
rows --write puts what the pages keep in a comment, "once measured", into the place of the sentence under many.unmeasured.
"""
import argparse
import json
import math
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEASURED = ROOT / "benches" / "measured.json"
PAGES = [ROOT / "docs" / name for name in ("many_machines.md", "many_machines.zh-CN.md")]

# Of the program: numbers that are summed at once, less half a piece, for which there is no room on average; and the
# bytes that a process gives away after every step besides its gradient (loss and tokens; three times whether to go on).
BUCKET = (2 << 20) - (1 << 14)
GATHERED = [17, 9, 9, 9]

# Assumptions. Gbit/s of a machine's wire, and seconds until a message has arrived.
NETWORKS = [(1, 50e-6), (10, 50e-6), (25, 50e-6), (100, 2e-6)]
# Of 1,538 bytes on an Ethernet wire 1,448 are ours; the rest is headers and gaps.
PAYLOAD = 1448 / 1538
# Standard deviation of the time that equal machines take for equal work.
SIGMA = 0.01
# Tokens of a step of GPT-2's training: 512 windows of 1,024.
USEFUL = 512 * 1024

PROCESSES = [2, 8, 64, 1024]
MICRO_BATCHES = [1, 4, 16]
# Parameters, those of them in tables of rows (tokens and positions), and tokens of a micro-batch. The gradients of
# tables are complete only at the end of the way back.
WORKLOADS = {"w3": (10_770_816, (65 + 256) * 384, 8 * 256), "w4": (123_702_528, (50_257 + 64) * 768, 4 * 64)}


def messages(parameters, processes):
    """Messages that a process sends in a step; fewer where there are more processes than pieces to share."""
    rounds = processes.bit_length() - 1
    return rounds * (2 * math.ceil(parameters / BUCKET) + len(GATHERED))


def sent(parameters, processes):
    """Bytes that a process sends in a step, the mean over all."""
    return 2 * 4 * parameters * (processes - 1) / processes + (processes - 1) * sum(GATHERED)


def first(rates):
    """The share of a gradient that goes to the others first."""
    return min(BUCKET / rates["parameters"], 1)


def late(rates):
    """The share of a gradient that goes when the way back is over: what is not in buckets that are full before the tables."""
    before = (rates["parameters"] - rates["tables"]) // BUCKET * BUCKET
    return (rates["parameters"] - before) / rates["parameters"]


def waits_ms(rates, under_way, divided):
    """How long after the last micro-batch's way back messages are still under way, in ms."""
    beside = under_way / 2 if divided else under_way
    back = rates["back"] * rates["micro_ms"]
    return under_way - beside + max(beside - (1 - first(rates)) * back, late(rates) * beside)


def step_ms(rates, processes, micro_batches, network, divided=False, one_wire=False):
    """Milliseconds of a step. `one_wire`: all that anybody sends goes over it, as on a loopback."""
    gbits, alpha = network
    waiting = 1 + SIGMA * math.sqrt(2 * math.log(processes))
    rate = gbits * 1e9 / 8 * PAYLOAD / (processes if one_wire else 1)
    under_way = 1e3 * (messages(rates["parameters"], processes) * alpha + sent(rates["parameters"], processes) / rate)
    return (micro_batches * rates["micro_ms"] * waiting
            + rates["update_ms"] / (processes if divided else 1)
            + rates["sum_ms"] * 2 * (processes - 1) / processes
            + waits_ms(rates, under_way, divided))


def efficiency(rates, processes, micro_batches, network, **how):
    """The time of one process for the same step, divided by R times that of R of them."""
    alone = processes * micro_batches * rates["micro_ms"] + rates["update_ms"]
    return alone / (processes * step_ms(rates, processes, micro_batches, network, **how))


def rates_of(measured, name):
    """Rates of a workload: a whole step of one micro-batch less the update, which grows with the parameters."""
    parameters, tables, tokens = WORKLOADS[name]
    step = next(row[1] for row in measured["ratios"] if row[0] == name)
    ops = {row[0].strip("`"): row[1] for row in measured["ops"]}
    update = (ops["adamw"] + ops["clip"]) * parameters / WORKLOADS["w3"][0]
    forth, back = (sum(row[column] for row in measured["ops"] if row[2] > 0) for column in (1, 2))
    sums = [row[2] for row in measured["many"]["sums"] if row[0] == name]
    return {"parameters": parameters, "tables": tables, "tokens": tokens, "micro_ms": step - update, "back": back / (forth + back),
            "update_ms": update, "sum_ms": sums[0] if sums else 0.0}


def both(rates, processes, micro_batches, network):
    """Efficiency without and with --shard-optimizer."""
    return [efficiency(rates, processes, micro_batches, network, divided=divided) for divided in (False, True)]


def far(rates):
    """Rows: Gbit/s, micro-batches of a process, then the two efficiencies for each number of processes."""
    return [[network[0], m, *[both(rates, r, m, network) for r in PROCESSES]] for network in NETWORKS for m in MICRO_BATCHES]


def useful(rates):
    """Rows: micro-batches of a process, the processes that together have USEFUL tokens, their efficiencies."""
    counts = [(m, USEFUL // (m * rates["tokens"])) for m in MICRO_BATCHES]
    return [[m, r, *[both(rates, r, m, network) for network in NETWORKS]] for m, r in counts]


def traffic(rates):
    """Rows: processes, messages and megabytes that each sends in a step."""
    return [[r, messages(rates["parameters"], r), sent(rates["parameters"], r) / 1e6] for r in PROCESSES]


def moments(rates):
    """Megabytes of AdamW's moments in a process, alone and divided."""
    return [8 * rates["parameters"] / 1e6 / r for r in [1, *PROCESSES]]


def pair(values):
    return " / ".join(f"{value:.2f}" for value in values)


def tables(measured):
    """The rows of each table by the id of its check; they are the same in both languages."""
    rates = {name: rates_of(measured, name) for name in WORKLOADS}
    rows = {
        "many.rates": [f"{n.upper()} | {r['parameters']:,} | {r['tokens']:,} | {r['micro_ms']:.1f} ms | {r['update_ms']:.1f} ms | "
                       f"{r['back']:.2f} | {first(r):.2f} | {late(r):.2f}" for n, r in rates.items()],
        "many.networks": [f"{g} Gbit/s | {1e6 * a:.0f} µs | {g * 125 * PAYLOAD:,.0f} MB/s" for g, a in NETWORKS],
        "many.traffic": [f"{n.upper()} | {r:,} | {count:,} | {megabytes:.1f} MB" for n, w in rates.items() for r, count, megabytes in traffic(w)],
        "many.moments": [f"{n.upper()} | " + " | ".join(f"{mb:,.1f} MB" for mb in moments(r)) for n, r in rates.items()],
        "many.useful": [f"{n.upper()} | {m} | {r:,} | " + " | ".join(map(pair, cells)) for n, w in rates.items() for m, r, *cells in useful(w)],
        "many.sums": [f"{w.upper()} | {library} | {ours:.1f} ms | {theirs:.1f} ms | {copy:.1f} ms"
                      for w, library, ours, theirs, copy in measured["many"]["sums"]],
    }
    for name, w in rates.items():
        rows[f"many.{name}"] = [f"{g} Gbit/s | {m} | " + " | ".join(map(pair, cells)) for g, m, *cells in far(w)]
    return {key: "\n".join(f"| {row} |" for row in lines) for key, lines in rows.items() if lines}


def write(rows):
    """Behind a mark a table keeps its first two lines, its heading; the others are put there."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if "many.sums" in rows:
            text = re.sub(r".*<!-- check: many.unmeasured -->\n\n<!-- once measured:\n((?:.*\n)*?)-->\n", r"\1", text)
            text = text.replace("\n(check: many.sums)\n", "\n<!-- check: many.sums -->\n")
        for key, new in rows.items():
            table = re.compile(rf"(<!-- check: {re.escape(key)} -->\n(?:\|.*\n){{2}})(?:\|.*\n)*")
            if not table.search(text):
                print(f"{page.name}: no table {key}")
            text = table.sub(lambda found: found.group(1) + new + "\n", text)
        page.write_text(text, encoding="utf-8")


def own(args):
    """Sizes of the caller's own."""
    rates = {"parameters": int(args.parameters), "tables": int(args.tables), "tokens": args.tokens, "sum_ms": args.sum_ms,
             "update_ms": args.update_ms, "micro_ms": args.step_ms - args.update_ms, "back": args.back}
    networks = [(args.gbits, args.latency_us * 1e-6)] if args.gbits else NETWORKS
    processes = [args.processes] if args.processes else PROCESSES
    micro_batches = [args.micro_batches] if args.micro_batches else MICRO_BATCHES
    how = {"divided": args.divided, "one_wire": args.one_wire}
    rows = [{"gbits": n[0], "processes": r, "micro_batches": m, "tokens_of_a_step": r * m * args.tokens,
             "step_ms": step_ms(rates, r, m, n, **how), "efficiency": efficiency(rates, r, m, n, **how)}
            for n in networks for m in micro_batches for r in processes]
    if args.json:
        return print(json.dumps(rows))
    print("| network | processes | micro-batches of each | tokens of a step | a step | efficiency |\n|---|---|---|---|---|---|")
    for r in rows:
        print(f"| {r['gbits']:g} Gbit/s | {r['processes']:,} | {r['micro_batches']} | {r['tokens_of_a_step']:,} | {r['step_ms']:.1f} ms | "
              f"{r['efficiency']:.2f} |")


def main():
    parser = argparse.ArgumentParser(description="What a step costs on many machines, from measured rates.")
    parser.add_argument("--json", action="store_true", help="numbers that are not rounded, for programs")
    parser.add_argument("--write", action="store_true", help="put the tables into both pages")
    parser.add_argument("--step-ms", type=float, help="a whole step of one process with one micro-batch; `bench` measures it")
    parser.add_argument("--update-ms", type=float, default=0.0, help="the part of it that is clipping and AdamW")
    parser.add_argument("--sum-ms", type=float, default=0.0, help="a sum between two processes of one machine")
    parser.add_argument("--parameters", type=float, help="numbers of the model")
    parser.add_argument("--tables", type=float, default=0, help="those of them in the tables of tokens and positions")
    parser.add_argument("--back", type=float, default=2 / 3, help="the share of forward and backward that is backward")
    parser.add_argument("--tokens", type=int, default=0, help="tokens of a micro-batch")
    parser.add_argument("--gbits", type=float, help="one network instead of all")
    parser.add_argument("--latency-us", type=float, default=50.0, help="its latency")
    parser.add_argument("--processes", type=int, help="one number of processes, a power of two")
    parser.add_argument("--micro-batches", type=int, help="one number of micro-batches of a process")
    parser.add_argument("--divided", action="store_true", help="with --shard-optimizer")
    parser.add_argument("--one-wire", action="store_true", help="all processes share the wire, as on a loopback")
    args = parser.parse_args()
    if args.step_ms or args.parameters:
        if not (args.step_ms and args.parameters):
            parser.error("--step-ms and --parameters belong together")
        if args.processes and args.processes & (args.processes - 1):
            parser.error("--processes is a power of two")
        return own(args)
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    if args.json:
        rates = {name: rates_of(measured, name) for name in WORKLOADS}
        shown = {name: {"rates": w, "far": far(w), "useful": useful(w), "traffic": traffic(w), "moments": moments(w)} for name, w in rates.items()}
        return print(json.dumps(shown))
    rows = tables(measured)
    if args.write:
        return write(rows)
    for key, table in rows.items():
        print(f"{key}\n{table}\n")


if __name__ == "__main__":
    main()
