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

it("the status of a quota names as many at most, also where a client writes it", async () => {
  const withStatus = (hard: number, used: number) => ({
    ...quota(1),
    status: { hard: quota(hard).spec.hard, used: quota(used).spec.hard },
  });
  const changed = (before: any, after: any) =>
    faultsOf(resourceQuotas.strategy?.validateUpdate?.(after, before, context("status")));
  expect(await changed(withStatus(0, 0), withStatus(250, 250))).toEqual([]);
  expect(await changed(withStatus(0, 0), withStatus(251, 251))).toEqual([
    expect.stringContaining("status.hard: Too many: 251: must have at most 250"),
    expect.stringContaining("status.used: Too many: 251: must have at most 250"),
  ]);
  expect(await changed(withStatus(300, 300), withStatus(300, 299))).toEqual([]);
});
