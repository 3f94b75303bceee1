import { setImmediate as nextTurn } from "node:timers/promises";
import { createPlatformNames } from "@postern/api/platform-names";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { createLimitLocks, type LimitLocks } from "@postern/apiserver/registry/store/limit-locks";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { expect, it } from "vitest";
import { currentLimitLocks } from "../../foundation/store/limits-of-threads.ts";
import { cacheBudgets } from "./cache-budgets.ts";
import { createManagementBudgets } from "./management-budgets.ts";
import { detectedMemoryLimit, memoryBudgets } from "./memory-limit.ts";

const MIB = 1 << 20;
const names = createPlatformNames({ domain: "postern", name: "postern", projectNamespacePrefix: "p-" });

async function createBudgets(platformBytes = 2 ** 40, storage = createMemoryStorage(), limitLocks?: LimitLocks) {
  const cache = createWatchCache({
    storage,
    prefix: "/registry/",
    scheduler: systemRuntime.scheduler,
    ...cacheBudgets(MIB),
  });
  await cache.ready();
  const quotas = new Map<string, { readonly bytes?: number; readonly objects?: number }>();
  const refused: string[] = [];
  const budgets = createManagementBudgets({
    storage,
    cache,
    limitLocks: limitLocks && currentLimitLocks(limitLocks, cache),
    composition: "management",
    accessKeysPrefix: "/registry/management/management.postern/ownedaccesskeys/",
    keys: { usageOf: () => ({ objects: 0, bytes: 0 }), whenRead: async () => {}, isRead: true },
    names,
    quotaOf: (project) => quotas.get(project),
    limits: { project: { objects: 20, bytes: 1000 }, ownerBytes: 1000, platformBytes },
    onRefused: (scope) => void refused.push(scope),
  });
  return { budgets, quotas, refused, storage };
}

const at = (resource: string, namespace: string, name: string) =>
  `/registry/management/${resource}/${namespace}/${name}`;
const value = (length: number) => new Uint8Array(length).fill(32);
const KINDS = [
  "core/secrets",
  "core/events",
  "core/services",
  "coordination.k8s.io/leases",
  "rbac.authorization.k8s.io/roles",
  "rbac.authorization.k8s.io/rolebindings",
  "management.postern/virtualclusterinstances",
  "management.postern/trustrules",
  "example.org/widgets",
];

it("counts objects of all kinds of a project together, and no others", async () => {
  const { budgets, refused } = await createBudgets();
  for (const kind of KINDS) await budgets.storage.create(at(kind, "p-web", "a"), value(100));
  for (const kind of KINDS) {
    await expect(budgets.storage.create(at(kind, "p-web", "b"), value(101))).rejects.toMatchObject({
      code: 507,
      message: expect.stringContaining('project "web" is full: it has 9 objects of 20'),
    });
  }
  expect(refused).toHaveLength(KINDS.length);
  await budgets.storage.create(at("core/secrets", "p-other", "a"), value(900));
  await budgets.storage.create(at("core/secrets", "default", "a"), value(9000));
  expect(budgets.ofProject("web").used).toMatchObject({ objects: 9, bytes: 900 });
});

it("limits the number of objects, and follows the quota of the project", async () => {
  const { budgets, quotas } = await createBudgets();
  for (let index = 0; index < 20; index++) {
    await budgets.storage.create(at("core/secrets", "p-web", `${index}`), value(2));
  }
  await expect(budgets.storage.create(at("core/events", "p-web", "a"), value(2))).rejects.toThrow("20 objects of 20");
  quotas.set("web", { objects: 21 });
  await budgets.storage.create(at("core/events", "p-web", "a"), value(2));
});

it("counts again after a restart", async () => {
  const { budgets, storage } = await createBudgets();
  await budgets.storage.create(at("core/secrets", "p-web", "a"), value(900));
  const again = await createBudgets(2 ** 40, storage);
  await expect(again.budgets.storage.create(at("core/secrets", "p-web", "b"), value(200))).rejects.toThrow("is full");
});

const MANY = 1_000_000;

it.each([
  ["the number of objects", 2, { objects: 20, bytes: MANY }, 20],
  ["the bytes of small objects", 100, { objects: MANY, bytes: 1_000 }, 10],
  ["the bytes of large objects", MIB, { objects: MANY, bytes: 10 * MIB }, 10],
])("threads together do not pass %s", async (_what, length, quota, places) => {
  const [storage, locks] = [createMemoryStorage(), createLimitLocks()];
  const create = storage.create.bind(storage);
  // All threads ask before the first write is there.
  Object.assign(storage, {
    create: async (...call: Parameters<typeof create>) => await nextTurn().then(() => create(...call)),
  });
  const threads = await Promise.all([1, 2, 3].map(() => createBudgets(2 ** 40, storage, locks)));
  for (const { quotas } of threads) quotas.set("web", quota);
  const writes = threads.flatMap(({ budgets }, thread) =>
    Array.from({ length: 12 }, (_, index) =>
      budgets.storage.create(at("core/secrets", "p-web", `${thread}-${index}`), value(length)),
    ),
  );
  const made = (await Promise.allSettled(writes)).filter(({ status }) => status === "fulfilled");
  expect(made).toHaveLength(places);
});

it("leaves room for others when the memory of the platform is full", async () => {
  const { budgets, quotas } = await createBudgets(2 * MIB);
  for (const project of ["a", "b", "c"]) quotas.set(project, { bytes: 100 * MIB, objects: 1e6 });
  const fill = async (project: string): Promise<number> => {
    for (let index = 0; ; index++) {
      try {
        await budgets.storage.create(at("core/secrets", `p-${project}`, `${index}`), value(10_000));
      } catch (error) {
        expect(error).toMatchObject({ code: 507, message: expect.stringContaining("memory of this server") });
        return index;
      }
    }
  };
  const [first, second, third] = [await fill("a"), await fill("b"), await fill("c")];
  expect(first).toBeGreaterThan(second);
  expect(third).toBeGreaterThan(first / 8);
  expect(budgets.usedBytes).toBeLessThan(budgets.limitBytes);
});

it("reads the limit of the cgroup, of both versions, and the physical memory otherwise", () => {
  const files = (given: { readonly [file: string]: string }) => (file: string) => given[file];
  const v2 = "/sys/fs/cgroup/memory.max";
  const v1 = "/sys/fs/cgroup/memory/memory.limit_in_bytes";
  expect(detectedMemoryLimit(files({ [v2]: "1073741824\n" }), 8e9, 0)).toBe(1_073_741_824);
  expect(detectedMemoryLimit(files({ [v2]: "max\n" }), 8e9, 0)).toBe(8e9);
  expect(detectedMemoryLimit(files({ [v1]: "536870912\n" }), 8e9, 0)).toBe(536_870_912);
  expect(detectedMemoryLimit(files({ [v1]: "9223372036854771712\n" }), 8e9, 0)).toBe(8e9);
  expect(detectedMemoryLimit(files({}), 8e9, 0)).toBe(8e9);
  expect(detectedMemoryLimit(files({}), 8e9, 5e8)).toBe(5e8);
  expect(detectedMemoryLimit(files({ [v2]: "400000000" }), 8e9, 2 ** 64)).toBe(4e8);
});

it("derives budgets whose sum fits the limit", () => {
  for (const limit of [256, 512, 1024, 4096, 65_536].map((mib) => mib * MIB)) {
    const asked = { bodyBytes: 256 * MIB, backlogBytes: 128 * MIB };
    const { platformBytes, clustersBytes, historyBytes, bodyBytes, backlogBytes } = memoryBudgets(limit, asked);
    const stored = platformBytes + clustersBytes + 2 * historyBytes;
    const idle = 128 * MIB;
    // The smallest servers have what they need at least, and no margin.
    expect(stored + bodyBytes + backlogBytes + (limit > 256 * MIB ? idle : 0)).toBeLessThanOrEqual((limit * 7) / 8);
    expect([bodyBytes <= asked.bodyBytes, backlogBytes <= asked.backlogBytes]).toEqual([true, true]);
    expect(stored).toBeGreaterThan(limit / 4 - 8);
  }
});
