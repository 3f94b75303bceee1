// Starts the process of an attacker, and gives it orders.

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Target } from "./attack.ts";
import type { Order, Report } from "./order.ts";

export type Attacker = AsyncDisposable & {
  readonly pid: number;
  /** Whether an attack that could not be carried out has ended the process. */
  hasEnded(): boolean;
  attack(name: string, target: Target): Promise<void>;
  /** Counts until now. */
  counts(): Promise<Report>;
  stop(): Promise<Report>;
};

export function startAttacker(): Attacker {
  const child = fork(fileURLToPath(new URL("./main.ts", import.meta.url)), {
    execArgv: ["--import", "tsx", "--conditions=@postern/source"],
  });
  const exited = once(child, "exit");
  const tell = async (order: Order): Promise<Report> => {
    child.send(order);
    const answer = await Promise.race([once(child, "message"), exited.then(() => undefined)]);
    if (answer === undefined) throw new Error("the attacker ended");
    return answer[0] as Report;
  };
  return {
    pid: child.pid ?? 0,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    attack: async (name, target) => void (await tell({ type: "attack", name, target })),
    counts: () => tell({ type: "counts" }),
    stop: () => tell({ type: "stop" }),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
