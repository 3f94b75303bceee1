// More virtual clusters than a cluster thread has memory for: each starts when it is asked for, in the place of one that has been idle.

import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { CONFIG_MAPS, createCluster, metric, pathOf } from "../attacks/testing/threads/clusters.ts";
import { adminKey, httpClient } from "./testing/http-client.ts";
import { startOwnServer } from "./testing/own-server.ts";

const CLUSTERS = 34;
const IDLE_MS = 2_500;

test("clusters that do not fit at once take turns", async () => {
  await using server = await startOwnServer([
    // Of several threads that serve requests, each would have an Nth of the memory, with no room for so many clusters.
    ...["--threads", "1", "--cluster-threads", "1", "--memory-limit-mib", "256"],
  ]);
  const [send, key] = [await httpClient(server), await adminKey(server)];
  const names = Array.from({ length: CLUSTERS }, (_, index) => `crowd-${index}`);
  for (const name of names) await createCluster(send, key, name);
  expect(await metric(send, key, "postern_thread_clusters")).toBeLessThan(CLUSTERS);
  for (const name of names) {
    const asked = await send(pathOf(name, CONFIG_MAPS), { key });
    // All that runs may have been used a moment ago.
    if (asked.status === 503) await sleep(IDLE_MS);
    const { status, text } = asked.status === 503 ? await send(pathOf(name, CONFIG_MAPS), { key }) : asked;
    expect(status, text).toBe(200);
  }
}, 240_000);
