// A platform whose two API surfaces take objects of every kind.

import { expect } from "vitest";
import { type RunningPlatform, startPlatform } from "../../../packages/platform/src/testing/running-platform.ts";

/** Where the objects of a surface are. */
export const NAMESPACES = { management: "p-default", embedded: "default" } as const;
/** The path of each surface. */
export const SURFACES = { management: "", embedded: "/kubernetes/project/default/virtualcluster/demo" } as const;

export async function startWithWorkloads(): Promise<RunningPlatform> {
  const platform = await startPlatform();
  const demo = { path: "namespaces/p-default/virtualclusterinstances/demo" };
  await platform.until(demo, ({ body }) => body?.status?.phase === "Ready");
  // Kinds that need nodes are refused otherwise.
  const workloads = { spec: { template: { workloads: "stored" } } };
  expect((await platform.send({ ...demo, method: "PATCH", body: workloads })).status).toBe(200);
  return platform;
}
