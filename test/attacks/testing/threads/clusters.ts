// Virtual clusters of a server, by plain requests.

import { setTimeout as sleep } from "node:timers/promises";
import type { HttpClient } from "../../../e2e/testing/http-client.ts";

export const INSTANCES = "/apis/management.postern/v1/namespaces/p-default/virtualclusterinstances";
export const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

export const pathOf = (cluster: string, path: string): string =>
  `/kubernetes/project/default/virtualcluster/${cluster}${path}`;

/** Resolves when it serves requests. */
export async function createCluster(send: HttpClient, key: string, name: string): Promise<void> {
  const body = { metadata: { name }, spec: { template: {} } };
  const made = await send(INSTANCES, { key, body });
  if (made.status !== 201) throw new Error(`${made.status} ${made.text}`);
  while ((await send(pathOf(name, CONFIG_MAPS), { key })).status !== 200) await sleep(POLL.interval);
}

export const POLL = { timeout: 60_000, interval: 100 };

/** The sum of a metric over its series, those with a part of the text in their labels. */
export async function metric(send: HttpClient, key: string, name: string, labels = ""): Promise<number> {
  const { text } = await send("/metrics", { key });
  let sum = 0;
  for (const line of text.split("\n")) {
    if (line.startsWith(name) && line.includes(labels)) sum += Number(line.split(" ").at(-1));
  }
  return sum;
}
