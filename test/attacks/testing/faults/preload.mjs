// Loaded into a server whose build has fault points: counts which are passed, and throws at the one that a test names.

import { readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";

const socket = process.env.FAULT_SOCKET;

if (isMainThread && socket !== undefined && process.argv.includes("serve")) {
  /** By place: how often it was passed, and whether the event loop had called it directly. */
  const seen = new Map();
  let armed;
  let thrown = 0;

  globalThis.__faultPoint = (place, value) => {
    const point = seen.get(place);
    if (point === undefined) seen.set(place, { count: 1, isEntry: isEntry(place) });
    else {
      point.count++;
      if (!point.isEntry && point.count < 4) point.isEntry = isEntry(place);
    }
    if (armed === place && (seen.get(place).isEntry === false || isEntry(place))) {
      armed = undefined;
      thrown++;
      throw new TypeError(`an injected fault at ${place}`);
    }
    return value;
  };

  const modules = new Map();

  /** The sources of the frames, from the innermost. */
  const framesOf = () => {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 60;
    const { stack = "" } = new Error();
    Error.stackTraceLimit = limit;
    return stack
      .split("\n")
      .slice(1)
      .filter((line) => line.includes("/faulty-bundle/") && !line.includes("at async "))
      .map((line) => {
        const [, file = "", number = "0"] = /(file:\S+?):(\d+):\d+\)?$/.exec(line) ?? [];
        return moduleAt(file, Number(number));
      });
  };

  /** esbuild writes the path of each module above it. */
  const moduleAt = (file, number) => {
    let lines = modules.get(file);
    if (lines === undefined) {
      let current = "";
      lines = readFileSync(fileURLToPath(file), "utf8")
        .split("\n")
        .map((line) => (current = /^\/\/ ((?:packages|node_modules)\/\S+)$/.exec(line)?.[1] ?? current));
      modules.set(file, lines);
    }
    return lines[number - 1] ?? "";
  };

  const isEntry = () => {
    const frames = framesOf().slice(1);
    return frames.every((module) => module.endsWith("logging/faults.ts"));
  };

  // A server before this one may have been killed.
  rmSync(socket, { force: true });
  createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    if (pathname === "/arm") {
      armed = searchParams.get("place") ?? undefined;
      thrown = 0;
    }
    response.end(JSON.stringify({ thrown, armed, seen: pathname === "/seen" ? [...seen] : undefined }));
  })
    .listen(socket)
    .unref();
}
