// Requests to a cluster whose workloads are controlled: each is over when its controllers are.

import type { UsedSurface } from "./use-cluster-surface.ts";

/** Controllers act on what others wrote, some times in a row. */
const ROUNDS = 4;

export function controlledClient(cluster: Pick<UsedSurface, "send" | "settled">) {
  async function settled(): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) await cluster.settled();
  }
  /** Rejects with the body of a refusal. */
  async function send(method: string, path: string, json?: object): Promise<any> {
    const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const answer = await cluster.send({ method, path, ...(json === undefined ? {} : { json, contentType }) });
    await settled();
    if (answer.status >= 400) throw new Error(JSON.stringify(answer.json));
    return answer.json;
  }
  return { settled, send };
}
