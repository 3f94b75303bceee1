// Loaded into a server whose build has fault points, and into its threads: counts which are passed, and throws at the one that a test names.

import { appendFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import workers, { getEnvironmentData, isMainThread, setEnvironmentData } from "node:worker_threads";

const DATA = "postern-faults";
const [THROWN, ARMED, GENERATION, LENGTH, ASKED] = [0, 1, 2, 3, 4];
/** Values of ARMED: where the place throws. */
const [NOWHERE, IN_SERVERS, IN_THREADS] = [0, 1, 2];
/** Bytes in front of the name of the armed place. */
const NAME_AT = 64;

const socket = process.env.FAULT_SOCKET;
const isServer = isMainThread && socket !== undefined && process.argv.includes("serve");

if (isServer) {
  // Threads are started without the environment of the process.
  setEnvironmentData(DATA, { memory: new SharedArrayBuffer(1024), passed: `${socket}.passed` });
}

/** A thread that serves requests is a server: as in the first one, an error counts where the event loop calls the function. */
const isFront = workers.threadName?.startsWith("front-") === true;
/** Each function of the other threads counts. */
const own = isServer || isFront ? IN_SERVERS : IN_THREADS;

const data = getEnvironmentData(DATA);
if (data !== undefined && globalThis.__faultPoint === undefined) {
  const state = new Int32Array(data.memory, 0, NAME_AT / 4);
  const nameBytes = new Uint8Array(data.memory, NAME_AT);
  /** Of a thread that serves requests, by place: how often it passed it, and whether the event loop had called it directly. */
  const seen = new Map();
  let generation = 0;
  /** Places passed since the server was last asked for them, and how often it had been asked then. */
  const told = new Set();
  let asked = 0;
  let armed = "";

  globalThis.__faultPoint = (place, value) => {
    if (own === IN_SERVERS) {
      const point = seen.get(place) ?? { count: 0, isEntry: false };
      seen.set(place, point);
      point.count++;
      if (!point.isEntry && point.count < 20) point.isEntry = isEntry();
    }
    // Stacks of each function would hold a thread of virtual clusters up for so long that it is ended.
    if (seen.get(place)?.isEntry !== false) tell(place);
    if (state[ARMED] === own) {
      if (generation !== state[GENERATION]) {
        generation = state[GENERATION];
        armed = new TextDecoder().decode(nameBytes.slice(0, state[LENGTH]));
      }
      if (armed === place && Atomics.compareExchange(state, ARMED, own, NOWHERE) === own) {
        Atomics.add(state, THROWN, 1);
        throw new TypeError(`an injected fault at ${place}`);
      }
    }
    return value;
  };

  const tell = (place) => {
    if (asked !== state[ASKED]) {
      asked = state[ASKED];
      told.clear();
    }
    if (told.has(place)) return;
    told.add(place);
    appendFileSync(data.passed, `${own} ${place}\n`);
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

  /** What only passes calls of the event loop on. */
  const PASSES_ON = /(?:logging\/faults|steps\/caught)\.ts$/;
  const isEntry = () => {
    const frames = framesOf().slice(1);
    return frames.every((module) => PASSES_ON.test(module));
  };

  const placesOf = (lines, where) => [
    ...new Set(lines.filter((line) => line.startsWith(`${where} `)).map((line) => line.slice(2))),
  ];

  if (isServer) {
    // A server before this one may have been killed.
    rmSync(socket, { force: true });
    createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
      if (pathname === "/arm") {
        const { written } = new TextEncoder().encodeInto(searchParams.get("place") ?? "", nameBytes);
        state[LENGTH] = written;
        state[THROWN] = 0;
        state[GENERATION]++;
        Atomics.store(state, ARMED, searchParams.get("threads") === "true" ? IN_THREADS : IN_SERVERS);
      }
      if (pathname === "/disarm") Atomics.store(state, ARMED, NOWHERE);
      let passed = [];
      if (pathname === "/passed") {
        passed = existsSync(data.passed) ? readFileSync(data.passed, "utf8").split("\n") : [];
        rmSync(data.passed, { force: true });
        state[ASKED]++;
      }
      response.end(
        JSON.stringify({
          thrown: Atomics.load(state, THROWN),
          entries: placesOf(passed, IN_SERVERS),
          inThreads: placesOf(passed, IN_THREADS),
        }),
      );
    })
      .listen(socket)
      .unref();
  }
}
