// A file server for a folder.
import fs from "node:fs";
import http from "node:http";
import path from "node:path";

const KINDS = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

/** `named`: it tells the browser that a packed file is one. `changed` gets a file's name and bytes, and gives others. */
export function served(folder, { named = false, changed = (name, bytes) => bytes } = {}) {
  const server = http.createServer((asked, answer) => {
    const name = new URL(asked.url, "http://localhost").pathname.slice(1) || "index.html";
    const place = path.join(folder, name);
    if (!fs.existsSync(place)) return answer.writeHead(404).end();
    const packing = named && name.endsWith(".gz") ? { "Content-Encoding": "gzip" } : {};
    answer.writeHead(200, { "Content-Type": KINDS[path.extname(name)] || "application/octet-stream", ...packing });
    answer.end(changed(name, fs.readFileSync(place)));
  });
  return new Promise((listening) => server.listen(0, "127.0.0.1", () => listening(server)));
}
