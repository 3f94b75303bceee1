// The work of a request does not grow with the number of objects of its kind: counted in calls of functions, which a busy machine does not change.

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
/** More calls for each object that came are work that grows with their number. */
const CALLS_FOR_EACH = 1;
/** What follows a write in the same turn of the event loop, and shortly after it, counts for it. */
const SETTLED_MS = 3;

/** Their number is limited to one, each of them starts something that runs, or they go on being deleted for a while. */
const LEFT_OUT = ["CustomResourceDefinition", "VirtualClusterInstance", "SpaceInstance", "Project", "Namespace"];
const BY_DAY = ["OwnedAccessKey", "ConfigMap"];

type Costs = { readonly [request: string]: ReadonlyMap<string, number> };

const sumOf = (calls: ReadonlyMap<string, number>): number => [...calls.values()].reduce((sum, each) => sum + each, 0);

describe.each(["management", "embedded"] as const)("a request for one object of %s", (name) => {
  let platform: RunningPlatform;
  let creations: readonly ServedOperation[];
  beforeAll(async () => {
    platform = await startWithWorkloads();
    const operations = await servedOperations(platform, SURFACES[name]);
    creations = casesOf(
      operations.filter(
        ({ method, subresource, kind }) => method === "POST" && subresource === "" && !LEFT_OUT.includes(kind),
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

  it("takes as much work beside many others as beside few", { timeout: 1_800_000 }, async () => {
    const measured: string[] = [];
    const refused: string[] = [];
    const grown: string[] = [];
    for (const operation of creations) {
      const { apiVersion, kind, path } = operation;
      let number = 0;
      const next = (): string => `many-${number++}`;
      const collection = path.replace("{namespace}", NAMESPACES[name]);
      const add = async (count: number): Promise<void> => {
        for (let index = 0; index < count; index++) {
          const body = minimalObject(apiVersion, kind, next(), NAMESPACES[name]);
          await platform.send({ method: "POST", path: collection, body });
        }
      };
      try {
        await add(FEW);
        const before = await costs(operation, next);
        await add(MANY);
        const after = await costs(operation, next);
        measured.push(`${kind} ${apiVersion}`);
        for (const [verb, calls] of Object.entries(after)) {
          const earlier = before[verb] ?? new Map<string, number>();
          const growth = sumOf(calls) - sumOf(earlier);
          if (growth <= MANY * CALLS_FOR_EACH) continue;
          const most = [...calls]
            .map(([place, count]) => [count - (earlier.get(place) ?? 0), place.replace(/.*\/packages\//, "")] as const)
            .sort(([one], [other]) => other - one)
            .slice(0, 4);
          grown.push(`${verb} ${kind} ${apiVersion}: ${growth} calls more: ${most.join("; ")}`);
        }
      } catch (error) {
        refused.push(`${kind} ${apiVersion}: ${(error as Error).message}`);
      }
    }
    expect(measured.length).toBeGreaterThan(0);
    expect(grown).toEqual([]);
  });
});
