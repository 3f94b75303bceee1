// The process that generates load, separate from the servers so that their processor times do not mix.

import type { Answer, LoadReport, Order } from "./order.ts";
import { runFanOut, runHold } from "./run-fan-out.ts";
import { runLoad } from "./run-load.ts";

const tell = (answer: Answer): void => void process.send?.(answer);

async function run(order: Order): Promise<LoadReport> {
  const onStarted = (): void => tell({ type: "started" });
  if (order.kind === "load") return await runLoad(order, onStarted);
  return order.kind === "hold" ? await runHold(order, onStarted) : await runFanOut(order, onStarted);
}

// Only the process that started this one sends orders.
process.on("message", (order: Order) => {
  run(order).then(
    (report) => tell({ type: "report", report }),
    (error: unknown) => tell({ type: "failed", message: String(error) }),
  );
});
