// The process of an attacker: carries out the attacks of its orders one after the other, and reports its counts.

import { setMaxListeners } from "node:events";
import { ATTACKS } from "./attacks.ts";
import type { Order, Report } from "./order.ts";

const running = new Map<string, AbortController>();
const counts: Record<string, number> = {};

const report = (): Report => ({ ...counts });

process.on("message", async (order: Order) => {
  if (order.type === "counts") {
    process.send?.(report());
    return;
  }
  for (const each of running.values()) each.abort();
  running.clear();
  if (order.type === "stop") {
    process.send?.(report());
    return;
  }
  for (const outcome of Object.keys(counts)) delete counts[outcome];
  const attack = ATTACKS.find(({ name }) => name === order.name);
  if (attack === undefined) throw new Error(`no attack has the name ${order.name}`);
  await attack.prepare?.(order.target);
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  running.set(order.name, stopping);
  const count = (outcome: string, many = 1): void => {
    if (!stopping.signal.aborted) counts[outcome] = (counts[outcome] ?? 0) + many;
  };
  void attack.run(order.target, count, stopping.signal);
  process.send?.(report());
});
process.on("disconnect", () => process.exit(0));
