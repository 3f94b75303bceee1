// Loaded into a server before anything else: on SIGUSR2 the first further thread that serves requests stands still, and never goes on.
// It is held up for three seconds before. What clients send in the last two of these is in the same turn of its event loop, behind the byte with which it stands still.

import { connect, createServer } from "node:net";
import workers from "node:worker_threads";

const HELD_UP_MS = 3_000;
const LATER_MS = 1_000;

const channel = new BroadcastChannel(import.meta.url);
channel.unref();

function standStill(milliseconds) {
  for (const end = performance.now() + milliseconds; performance.now() < end; );
}

if (workers.isMainThread) {
  let byte;
  channel.onmessage = ({ data: port }) => {
    byte = connect(port, "127.0.0.1").on("error", () => {});
    byte.unref();
  };
  process.on("SIGUSR2", () => {
    channel.postMessage("stand still");
    setTimeout(() => byte.write("."), LATER_MS);
  });
} else if (workers.threadName === "front-1") {
  channel.onmessage = () => standStill(HELD_UP_MS);
  const server = createServer((socket) => socket.on("data", () => standStill(Number.POSITIVE_INFINITY)));
  server.listen(0, "127.0.0.1", () => channel.postMessage(server.address().port)).unref();
}
