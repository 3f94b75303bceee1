// The work of a request does not grow with the number of objects, of its kind and of others: counted in calls of functions, which a busy machine does not change.

import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callsOf } from "../../packages/platform/src/testing/calls-of.ts";
import type { RunningPlatform } from "../../packages/platform/src/testing/running-platform.ts";
import { casesOf } from "../../tools/test-cost/by-night.ts";
import { minimalObject } from "./testing/minimal-objects.ts";
import { type ServedOperation, servedOperations } from "./testing/served-operations.ts";
import { NAMESPACES, SURFACES, startWithWorkloads } from "./testing/served-surfaces.ts";

const FEW = 8;
const MANY = 80;
/** A request is looked at so many times: what each of them calls is its own work. */
const TIMES = 4;
/** More calls for each object that came are work that grows with their number: parsing it takes five. Looks at one object differ by some hundred. */
const CALLS_FOR_EACH = 4;
/** Work that follows a write in the same turn of the event loop, and shortly after it, counts for it. */
const SETTLED_MS = 3;

/** There may be few of them, each is of another form, starts something that runs, goes on being deleted for a while, or needs another object. */
const LEFT_OUT = new Set([
  ...["AccessApproval", "AccessKey", "AccessPolicy", "AccessRequest", "APIService", "Binding"],
  ...["CustomResourceDefinition", "IPAddress", "KubeconfigGenerator", "Namespace", "Project", "ResourceQuota"],
  ...["SpaceInstance", "VirtualClusterInstance"],
  // Each request of their members is audited with its groups.
  "Team",
  // Objects of other kinds are held against all of them.
  ...["IdentityProvider", "IngressClass", "LimitRange", "PodDisruptionBudget", "PriorityClass", "StorageClass"],
]);
/** Answered at once, and not stored. */
const isReview = (kind: string): boolean => kind.endsWith("Review") || kind === "Self";
/** Once a second for each follower, whatever is asked. */
const BESIDE = /\/cache\/subscription(-set)?\.ts |\/cache\/resource-view\.ts progress/;
const BY_DAY = ["OwnedAccessKey", "ConfigMap"];

type Costs = { readonly [request: string]: ReadonlyMap<string, number> };

const sumOf = (calls: ReadonlyMap<string, number>): number =>
  [...calls].reduce((sum, [place, count]) => (BESIDE.test(place) ? sum : sum + count), 0);

describe.each(["management", "embedded"] as const)("a request for one object of %s", (name) => {
  let platform: RunningPlatform;
  let creations: readonly ServedOperation[];
  beforeAll(async () => {
    platform = await startWithWorkloads();
    const operations = await servedOperations(platform, SURFACES[name]);
    creations = casesOf(
      operations.filter(
        ({ method, subresource, kind }) =>
          method === "POST" && subresource === "" && !LEFT_OUT.has(kind) && !isReview(kind),
      ),
      ({ kind, path }) => BY_DAY.includes(kind) && !path.includes("/kubernetes/management/"),
    );
  });
  afterAll(() => platform[Symbol.asyncDispose]());

  /** The calls of a request of each verb. */
  async function costs({ path, apiVersion, kind }: ServedOperation, next: () => string): Promise<Costs> {
    const collection = path.replace("{namespace}", NAMESPACES[name]);
    const send = async (method: string, at: string, body?: unknown): Promise<void> => {
      const { status, text } = await platform.send({
        method,
        path: at,
        body,
        headers: method === "PATCH" ? { "content-type": "application/merge-patch+json" } : {},
      });
      if (status >= 300) throw new Error(`${method} ${at}: ${status} ${text.slice(0, 200)}`);
      await setTimeout(SETTLED_MS);
    };
    const create = (object: string) =>
      send("POST", collection, minimalObject(apiVersion, kind, object, NAMESPACES[name]));
    const kept = next();
    await create(kept);
    const made: string[] = [];
    let turn = 0;
    return {
      CREATE: await callsOf(() => create(made[made.push(next()) - 1] ?? ""), TIMES),
      GET: await callsOf(() => send("GET", `${collection}/${kept}`), TIMES),
      PATCH: await callsOf(
        () => send("PATCH", `${collection}/${kept}`, { metadata: { annotations: { turn: `${turn++}` } } }),
        TIMES,
      ),
      DELETE: await callsOf(() => send("DELETE", `${collection}/${made.pop()}`), TIMES),
    };
  }

  it("takes as much work beside many others of all kinds as beside few", { timeout: 3_600_000 }, async () => {
    // Two API groups may show the same objects.
    let number = 0;
    const next = (): string => `many-${number++}`;
    const addToEach = async (count: number): Promise<void> => {
      for (const { path, apiVersion, kind } of creations) {
        for (let index = 0; index < count; index++) {
          const body = minimalObject(apiVersion, kind, next(), NAMESPACES[name]);
          await platform.send({ method: "POST", path: path.replace("{namespace}", NAMESPACES[name]), body });
        }
      }
    };
    const costsOfEach = async (): Promise<readonly Costs[]> => {
      const each: Costs[] = [];
      for (const operation of creations) each.push(await costs(operation, next));
      return each;
    };
    await addToEach(FEW);
    const before = await costsOfEach();
    await addToEach(MANY);
    const after = await costsOfEach();
    const grown = creations.flatMap(({ kind, apiVersion }, index) =>
      Object.entries(after[index] ?? {}).flatMap(([verb, calls]) => {
        const earlier = before[index]?.[verb] ?? new Map<string, number>();
        const growth = sumOf(calls) - sumOf(earlier);
        if (growth <= MANY * CALLS_FOR_EACH) return [];
        const most = [...calls]
          .map(([place, count]) => [count - (earlier.get(place) ?? 0), place.replace(/.*\/packages\//, "")] as const)
          .sort(([one], [other]) => other - one)
          .slice(0, 4);
        return [`${verb} ${kind} ${apiVersion}: ${growth} calls more: ${most.join("; ")}`];
      }),
    );
    expect(grown).toEqual([]);
  });
});
