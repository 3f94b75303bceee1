// Loaded into a server: at each SIGUSR2, a timer throws and a promise is rejected, of which nothing of the server knows, and a second has passed.

import { isMainThread } from "node:worker_threads";

if (isMainThread) {
  const now = performance.now.bind(performance);
  let offset = 0;
  performance.now = () => now() + offset;
  process.on("SIGUSR2", () => {
    offset += 1_000;
    setTimeout(() => {
      throw new TypeError("a timer that throws");
    });
    void Promise.reject(new TypeError("a rejected promise"));
  });
}
