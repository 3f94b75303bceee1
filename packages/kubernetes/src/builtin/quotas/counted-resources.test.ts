import { runSteps } from "@postern/apimachinery/steps/steps";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { expect, it } from "vitest";
import { countedResource, countUsages } from "./counted-resources.ts";
import type { ScopeRequirement } from "./quota-scopes.ts";

const SEED = Number(process.env["TEST_SEED"]);
const NAMES = ["pods", "requests.cpu", "limits.memory", "cpu"];
const NOW = Date.parse("2026-01-01T00:01:00Z");
const UNSCOPED: readonly ScopeRequirement[] = [];
const BEST_EFFORT: readonly ScopeRequirement[] = [{ scopeName: "BestEffort", operator: "Exists" }];

/** A pod of the cache, with as much processor time as `cpu` says; none for 0. */
function pod(cpu: number, metadata: object = {}): CachedObject {
  const resources = cpu === 0 ? {} : { requests: { cpu: `${cpu}m` }, limits: { memory: `${cpu}Mi` } };
  return { decode: () => ({ metadata, spec: { containers: [{ name: "c", resources }] } }) } as never;
}

it(`counts the pods that are there at the end, whatever came and went between the steps (TEST_SEED=${SEED})`, () => {
  const counted = countedResource("pods") ?? expect.unreachable();
  const next = randomNumbers(SEED);
  for (let round = 0; round < 50; round++) {
    let pods = Array.from({ length: next(30) }, () => pod(next(4)));
    const place = { view: { list: () => pods, count: () => pods.length }, keys: { inNamespace: () => "" } } as never;
    const scopes = [UNSCOPED, BEST_EFFORT];
    const steps = countUsages(counted, place, "default", scopes, NOW);
    let result = steps.next();
    for (; result.done !== true; result = steps.next()) {
      if (next(2) === 0) pods = pods.filter(() => next(5) > 0);
      if (next(2) === 0) pods = [...pods, pod(next(4))];
    }
    result.value.catchUp();
    const fresh = runSteps(countUsages(counted, place, "default", scopes, NOW));
    for (const name of NAMES) {
      for (const each of scopes) expect(result.value.amount(name, each)).toBe(fresh.amount(name, each));
    }
    expect(fresh.amount("pods", UNSCOPED)).toBe(BigInt(pods.length) * 1_000_000_000n);
  }
});

it.each([
  ["within its period", "2026-01-01T00:01:10Z", 1n],
  ["until its period has passed once more", "2026-01-01T00:00:50Z", 1n],
  ["no longer", "2026-01-01T00:00:40Z", 0n],
])("counts a pod that nothing ends: %s", (_when, deletionTimestamp, expected) => {
  const counted = countedResource("pods") ?? expect.unreachable();
  const terminating = pod(1, { deletionTimestamp, deletionGracePeriodSeconds: 20 });
  const place = { view: { list: () => [terminating] }, keys: { inNamespace: () => "" } } as never;
  const count = runSteps(countUsages(counted, place, "default", [UNSCOPED], NOW));
  expect(count.amount("pods", UNSCOPED)).toBe(expected * 1_000_000_000n);
  const end = Date.parse(deletionTimestamp) + 20_000;
  expect(count.changesAt).toBe(expected === 0n ? Number.POSITIVE_INFINITY : end);
});
