// A server for tests of tunnels, and what they ask it about its Clusters and the keys of their agents.

import { type RunningPlatform, startPlatform } from "../../../testing/running-platform.ts";
import { ONE_THREAD } from "../../../testing/threads-of-tests.ts";

export const WAIT = { timeout: 30_000, interval: 20 };
const KEYS = "/apis/storage.postern/v1/accesskeys";

/** Clusters are checked when something happens to them, and not from time to time. A fake agent opens one tunnel; those of agents lead to each thread. */
export const startTunnelPlatform = (checkSeconds = 3600): Promise<RunningPlatform> =>
  startPlatform({ ...ONE_THREAD, "proxy-health-check-interval-seconds": String(checkSeconds) });

export async function conditionOf(platform: RunningPlatform, cluster: string, type: string): Promise<any> {
  const { body } = await platform.send({ path: `clusters/${cluster}` });
  return body.status?.conditions?.find((condition: { type: string }) => condition.type === type);
}

/** Reasons of the Events of a Cluster. */
export async function eventsOf(platform: RunningPlatform, cluster: string): Promise<readonly string[]> {
  const { body } = await platform.send({ path: "/api/v1/namespaces/default/events" });
  return body.items.flatMap((event: any) => (event.involvedObject.name === cluster ? [event.reason] : []));
}

/** The keys that the agent of a Cluster has been given and that are left. */
export async function agentKeysOf(platform: RunningPlatform, cluster: string): Promise<readonly any[]> {
  const { body } = await platform.send({ path: KEYS });
  return body.items.filter(({ spec }: any) => spec.displayName === `Agent of cluster ${cluster}`);
}

/** Rejects where one of them is not changed. */
export async function endAgentKeys(platform: RunningPlatform, cluster: string, end: "disable" | "delete") {
  const call = end === "delete" ? { method: "DELETE" } : { method: "PATCH", body: { spec: { disabled: true } } };
  for (const { metadata } of await agentKeysOf(platform, cluster)) {
    const answer = await platform.send({ ...call, path: `${KEYS}/${metadata.name}` });
    if (answer.status !== 200) throw new Error(answer.text);
  }
}

export const endTunnels = (platform: RunningPlatform, cluster: string) =>
  platform.send({ method: "PATCH", path: `clusters/${cluster}`, body: { spec: { networkPeer: false } } });
