// The run of a link, without a browser: its settings make it, and it comes to the loss that the link names.
//
//     node tests/browser/link.mjs ADDRESS      with web/build's module; another machine's Node under emulation shows that bytes are equal there
import path from "node:path";
import { fileURLToPath } from "node:url";
import { open } from "./core.mjs";

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), "../..");
const fields = new URLSearchParams(process.argv[2].split("#").pop());
const numbers = Object.fromEntries(["heads", "layers", "width", "rate", "steps", "seed"].filter((name) => fields.has(name)).map((name) => [name, Number(fields.get(name))]));
const core = await open(path.join(process.env.CARGO_TARGET_DIR || path.join(ROOT, "target"), "web/llm_web.wasm"));
const { steps } = core.ask({ do: "make", ...numbers }).answer;
core.ask({ do: "step", n: steps });
let found;
do found = core.ask({ do: "measure", tokens: 0, slice: 64 }).answer; while (!found.done);
const loss = String(Number(found.validation_loss.toPrecision(9)));
console.log(`${process.arch}: ${loss} after ${steps} steps`);
if (fields.has("loss") && fields.get("loss") !== loss) {
  console.error(`error: the link names ${fields.get("loss")}`);
  process.exit(1);
}
