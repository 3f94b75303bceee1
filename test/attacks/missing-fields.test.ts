// Objects of every kind that the server has, each with one of its fields missing, null, or of another type: they are refused or taken, and the server
// never stumbles.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunningPlatform } from "../../packages/platform/src/testing/running-platform.ts";
import { everyCase } from "../../tools/test-cost/by-night.ts";
import { minimalObject } from "./testing/minimal-objects.ts";
import { type ServedOperation, servedOperations } from "./testing/served-operations.ts";
import { NAMESPACES, SURFACES, startWithWorkloads } from "./testing/served-surfaces.ts";

const IN_FLIGHT = 8;

type Path = readonly (string | number)[];

function* pathsIn(value: unknown, at: Path = []): Generator<Path> {
  if (at.length > 0) yield at;
  if (Array.isArray(value)) for (const [i, item] of value.entries()) yield* pathsIn(item, [...at, i]);
  else if (typeof value === "object" && value !== null) {
    for (const [name, member] of Object.entries(value)) yield* pathsIn(member, [...at, name]);
  }
}

/** With `to` at the path, or without what is there if `to` is undefined. */
function changed(value: any, [first = "", ...rest]: Path, to: unknown): any {
  const copy: any = Array.isArray(value) ? [...value] : { ...value };
  if (rest.length > 0) copy[first] = changed(copy[first], rest, to);
  else if (to !== undefined) copy[first] = to;
  else if (Array.isArray(copy)) copy.splice(Number(first), 1);
  else delete copy[first];
  return copy;
}

/** Values of each type; the one at hand is among them, which is as good. */
const OTHERS: readonly unknown[] = [undefined, null, "", "x", 0, -1, true, [], {}, [null], [{}], { x: null }];

describe.each(["management", "embedded"] as const)("an object of each kind of %s", (name) => {
  let platform: RunningPlatform;
  let creations: readonly ServedOperation[];
  beforeAll(async () => {
    platform = await startWithWorkloads();
    const operations = await servedOperations(platform, SURFACES[name]);
    creations = operations.filter(({ method, subresource }) => method === "POST" && subresource === "");
  });
  afterAll(() => platform[Symbol.asyncDispose]());

  it("is never answered as a failure of the server, whatever one of its fields is", { timeout: 300_000 }, async () => {
    const calls: { readonly what: string; readonly path: string; readonly body: string }[] = [];
    for (const { path, apiVersion, kind } of creations) {
      const whole = minimalObject(apiVersion, kind, "missing", NAMESPACES[name]);
      for (const at of pathsIn(whole)) {
        // Where the object is, is no matter of its kind.
        if (at.length === 1 && (at[0] === "apiVersion" || at[0] === "kind")) continue;
        // By day each field is missing, null, and of another type in turn.
        const others = everyCase ? OTHERS : [undefined, null, OTHERS[2 + (calls.length % (OTHERS.length - 2))]];
        for (const other of others) {
          calls.push({
            what: `${kind} ${at.join(".")} = ${JSON.stringify(other)}`,
            path: `${path.replace("{namespace}", NAMESPACES[name])}?dryRun=All`,
            body: JSON.stringify(changed(whole, at, other)),
          });
        }
      }
    }
    expect(calls.length).toBeGreaterThan(800);
    const failures: string[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      for (let call = calls[next++]; call !== undefined; call = calls[next++]) {
        const { status, text } = await platform.send({ path: call.path, method: "POST", body: call.body });
        if (status >= 500 || status < 200) failures.push(`${call.what}: ${status} ${text.slice(0, 200)}`);
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, work));
    expect(failures).toEqual([]);
  });
});
