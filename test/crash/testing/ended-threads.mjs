// Loaded into a server before anything else: on SIGUSR2 one of its cluster threads ends, drawn at random; with ENDED_THREADS=front- one that serves requests.

import { syncBuiltinESMExports } from "node:module";
import workers from "node:worker_threads";

const running = new Set();

workers.Worker = class extends workers.Worker {
  constructor(script, options) {
    super(script, options);
    if (!options?.name?.startsWith(process.env.ENDED_THREADS ?? "shared-")) return;
    running.add(this);
    this.once("exit", () => running.delete(this));
  }
};
syncBuiltinESMExports();

if (workers.isMainThread) {
  process.on("SIGUSR2", () => {
    const drawn = [...running][Math.floor(Math.random() * running.size)];
    void drawn?.terminate();
  });
}
