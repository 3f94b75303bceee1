// Starts a bystander in a process of its own.

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Experience } from "./bystander.ts";
import type { Tenants } from "./tenants.ts";

/** The arguments of the process. */
export type Bystander = {
  readonly url: string;
  readonly pid: number;
  readonly caFile: string;
  readonly good: string;
  readonly admin: string;
};

/** Like `experience`, from another process. */
export async function experienceElsewhere(tenants: Tenants, until: Promise<unknown>): Promise<Experience> {
  const { good, admin, process: server } = tenants;
  const { url, pid, caFile } = server;
  const bystander: Bystander = { url, pid, caFile, good, admin };
  const child = fork(fileURLToPath(new URL("./bystander-process.ts", import.meta.url)), [JSON.stringify(bystander)], {
    execArgv: ["--import", "tsx", "--conditions=@postern/source"],
  });
  const exited = once(child, "exit").then(([code]) => {
    throw new Error(`the bystander ended with ${code}`);
  });
  // It exits after its answer, too.
  exited.catch(() => {});
  await Promise.race([until, exited]);
  const answered = once(child, "message");
  child.send("end");
  const [experienced] = await Promise.race([answered, exited]);
  return experienced;
}
