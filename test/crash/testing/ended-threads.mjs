// Loaded into a server before anything else: on SIGUSR2 one of its cluster threads ends, drawn at random; with ENDED_THREADS=front- one that serves requests.
// Those that serve requests lose their connections first: Node aborts the process where a thread ends, and a request of HTTP/2 with data is read once more (nodejs/node#38418).
// With ENDED_THREADS_PER_MINUTE they end by themselves: the first further one that serves requests while it starts, and once the server is ready so many that the main thread has
// started, and as many that the others have. TEST_SEED says when, and which.

import { syncBuiltinESMExports } from "node:module";
import { Server, Socket } from "node:net";
import workers from "node:worker_threads";

const {
  ENDED_THREADS: names = "shared-",
  ENDED_THREADS_PER_MINUTE: rate,
  POSTERN_THREADS: fronts = "1",
  TEST_SEED: seed,
} = process.env;
const prefixes = names.split(",");
/** Less than a thread takes to start. */
const START_MS = 100;
let isFirst = true;
const running = new Set();
/** Those of the running ones that serve requests. */
const serving = new WeakSet();

workers.Worker = class extends workers.Worker {
  constructor(script, options) {
    super(script, options);
    if (!prefixes.some((prefix) => options?.name?.startsWith(prefix))) return;
    running.add(this);
    if (options.name.startsWith("front-")) {
      serving.add(this);
      if (isFirst && rate !== undefined) setTimeout(() => void this.terminate(), START_MS).unref();
      isFirst = false;
    }
    this.once("exit", () => running.delete(this));
  }
};
syncBuiltinESMExports();

/** Mulberry32, with other numbers in each thread; without a seed by chance. */
let state = (seed === undefined ? Math.random() * 2 ** 32 : Number(seed) + workers.threadId) | 0;
function random() {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), state | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

/** The threads of one process hear each other. */
const ends = new BroadcastChannel(import.meta.url);
ends.unref();
if (!workers.isMainThread) {
  ends.onmessage = ({ data }) => {
    if (data !== workers.threadId) return;
    for (const handle of process._getActiveHandles()) {
      if (handle instanceof Socket) handle.destroy();
      else if (handle instanceof Server) handle.close();
    }
    setImmediate(() => process.exit(1));
  };
}

function endOne() {
  const drawn = [...running][Math.floor(random() * running.size)];
  if (drawn === undefined) return;
  if (serving.has(drawn)) ends.postMessage(drawn.threadId);
  else void drawn.terminate();
}

/** Each thread that serves requests has cluster threads of its own. */
const meanPauseMs = ((workers.isMainThread ? 1 : Number(fronts)) * 60_000) / Number(rate);

function endLater() {
  const end = () => {
    endOne();
    endLater();
  };
  setTimeout(end, 2 * random() * meanPauseMs).unref();
}

if (workers.isMainThread) process.on("SIGUSR2", endOne);
// A server does not start where three threads of one place end while they start.
if (rate !== undefined && workers.isMainThread) {
  const { write } = process.stdout;
  process.stdout.write = (text, ...more) => {
    if (String(text).includes("ready at")) {
      process.stdout.write = write;
      endLater();
    }
    return write.call(process.stdout, text, ...more);
  };
} else if (rate !== undefined && !/^(shared|alone)-/.test(workers.threadName ?? "")) endLater();
