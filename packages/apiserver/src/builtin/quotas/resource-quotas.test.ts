import { expect, it } from "vitest";
import { resourceQuotas } from "./resource-quotas.ts";

const quota = (names: number): any => ({
  apiVersion: "v1",
  kind: "ResourceQuota",
  metadata: { name: "q" },
  spec: {
    hard: Object.fromEntries(Array.from({ length: names }, (_, at) => [`count/things${at}.example.com`, "1"])),
  },
});
const context = (subresource = ""): any => ({ info: { subresource } });
const faultsOf = async (faults: any): Promise<readonly string[]> =>
  (await faults).map(({ field, message }: any) => `${field}: ${message}`);
const created = (names: number) => faultsOf(resourceQuotas.strategy?.validate?.(quota(names), context()));
const updated = (before: number, after: number) =>
  faultsOf(resourceQuotas.strategy?.validateUpdate?.(quota(after), quota(before), context()));

const tooMany = (count: number) => [expect.stringContaining(`spec.hard: Too many: ${count}: must have at most 250`)];

it("a quota names at most 250 resources", async () => {
  expect(await created(250)).toEqual([]);
  expect(await created(251)).toEqual(tooMany(251));
  expect(await updated(0, 250)).toEqual([]);
  expect(await updated(250, 251)).toEqual(tooMany(251));
});

it("a quota from before the limit may be changed, and may not grow", async () => {
  expect(await updated(300, 300)).toEqual([]);
  expect(await updated(300, 251)).toEqual([]);
  expect(await updated(300, 301)).toEqual(tooMany(301));
});
