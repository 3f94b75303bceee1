// Starts the load generator, and sends it one order after the other.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Answer, LoadReport, Order } from "./order.ts";

export type LoadGenerator = AsyncDisposable & {
  /** `onStarted` is called when everything is connected and the clock starts. */
  run(order: Order, onStarted?: () => void): Promise<LoadReport>;
};

export function startLoadGenerator(): LoadGenerator {
  const child: ChildProcess = fork(fileURLToPath(new URL("./load-generator.ts", import.meta.url)), {
    execArgv: ["--import", "tsx"],
  });
  return {
    run: (order, onStarted) =>
      new Promise((resolve, reject) => {
        const onExit = (): void => reject(new Error("the load generator ended"));
        const onMessage = (answer: Answer): void => {
          if (answer.type === "started") {
            onStarted?.();
            return;
          }
          child.off("message", onMessage).off("exit", onExit);
          if (answer.type === "report") resolve(answer.report);
          else reject(new Error(answer.message));
        };
        child.on("message", onMessage).on("exit", onExit);
        child.send(order);
      }),
    async [Symbol.asyncDispose]() {
      const exited = once(child, "exit");
      child.kill();
      await exited;
    },
  };
}
