// Chromium without a window and without a network, driven through its pipe: no packages.
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

export function program() {
  return NAMES.find((name) => spawnSync("which", [name]).status === 0);
}

// No GPU; or that of SwiftShader, which is the processor.
const GPU = {
  none: ["--disable-gpu"],
  swiftshader: ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan"],
};

export class Chromium {
  #next = 0;
  #waiting = new Map();
  #rest = "";
  said = []; // what the page's console said

  constructor(gpu = "none") {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), "chromium-"));
    this.process = spawn(program(), ["--headless", "--no-sandbox", ...GPU[gpu], "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
      "--disable-dev-shm-usage", "--no-pings", "--disable-background-timer-throttling",
      "--disable-renderer-backgrounding", "--allow-file-access-from-files", "--remote-debugging-pipe",
      `--user-data-dir=${this.folder}`, "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.process.stdio[4].on("data", (bytes) => this.#read(bytes));
  }

  #read(bytes) {
    const parts = (this.#rest + bytes).split("\0");
    this.#rest = parts.pop();
    for (const message of parts.map(JSON.parse)) {
      if (message.method === "Runtime.consoleAPICalled" || message.method === "Runtime.exceptionThrown")
        this.said.push(JSON.stringify(message.params));
      const waiting = this.#waiting.get(message.id);
      if (!waiting) continue;
      this.#waiting.delete(message.id);
      if (message.error) waiting.reject(new Error(message.error.message));
      else waiting.resolve(message.result);
    }
  }

  send(method, params = {}) {
    const id = ++this.#next;
    const answered = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId: this.session }) + "\0");
    return answered;
  }

  // Opens an address in the one tab.
  async open(address) {
    const { targetInfos } = await this.send("Target.getTargets");
    const { targetId } = targetInfos.find((target) => target.type === "page");
    this.session = (await this.send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
    await this.send("Runtime.enable");
    await this.send("Page.enable");
    await this.send("Page.navigate", { url: address });
    await this.value("new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', done))");
  }

  // The value of an expression in the page, a promise's when it is kept.
  async value(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async close() {
    const ended = new Promise((done) => this.process.on("exit", done));
    // Asked to close, it ends its own processes first; killed, it leaves some that still write into the folder.
    this.session = undefined;
    this.send("Browser.close").catch(() => {});
    const late = setTimeout(() => this.process.kill(), 10_000);
    await ended;
    clearTimeout(late);
    fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}
