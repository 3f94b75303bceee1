// A process of a benchmark that takes one order after the other, apart from the server that is measured.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { MeasuredServer } from "../servers/measured-server.ts";

export type Worker<Order> = AsyncDisposable & {
  readonly pid: number;
  /** Resolves when the order is done. Rejects where it failed, or the process ended. */
  run(order: Order): Promise<void>;
};

/** `file` calls `takeOrders`. */
export function forkWorker<Order extends object>(file: URL): Worker<Order> {
  const child: ChildProcess = fork(file, { execArgv: ["--conditions=@postern/source", "--import", "tsx"] });
  const exited = once(child, "exit");
  return {
    pid: child.pid ?? 0,
    async run(order) {
      child.send(order);
      const [answer] = await Promise.race([once(child, "message"), exited]);
      if (answer !== "done") throw new Error(`${file.pathname}: ${answer}`);
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await exited;
    },
  };
}

/** In the process that was started: its parent alone sends orders. */
export function takeOrders<Order>(work: (order: Order) => Promise<void>): void {
  process.on("message", (order: Order) => {
    work(order).then(
      () => process.send?.("done"),
      (error: unknown) => process.send?.(String(error)),
    );
  });
}

/** As the figures of a process are read. */
export const asMeasured = ({ pid }: { readonly pid: number }): MeasuredServer => ({
  pid,
  target: { url: "", token: "" },
});
