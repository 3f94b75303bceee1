// A thread that beats, and then does as its data says.

import { getHeapSpaceStatistics } from "node:v8";
import { parentPort, workerData } from "node:worker_threads";

function youngBytes() {
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space");
  return young.space_used_size + young.space_available_size;
}

const numbers = new Int32Array(workerData.state, 0, 4);
const memory = new Float64Array(workerData.state, 16, 1);
Atomics.store(numbers, 1, 7);
Atomics.add(numbers, 0, 1);
setInterval(() => Atomics.add(numbers, 0, 1), 50);
// One call: its kind, number and method.
parentPort.on("message", ([, id, method]) => {
  if (method !== "idle") return;
  const { uid } = workerData.continueKey;
  if (uid === "loop") for (;;);
  if (uid === "memory") memory[0] = workerData.limitBytes + 1;
  if (uid === "heap") for (const kept = []; ; ) kept.push(new Array(1e5).fill(kept.length));
  if (uid === "throw") setImmediate(() => { throw new Error("not caught"); });
  if (uid === "exit") process.exit(0);
  if (uid === "answer") parentPort.postMessage([1, id, undefined, youngBytes()]);
});
