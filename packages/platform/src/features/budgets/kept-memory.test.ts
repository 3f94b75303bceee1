import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { expect, it } from "vitest";
import { cacheBudgets } from "./cache-budgets.ts";
import { keptMemoryOf } from "./kept-memory.ts";
import { residentBytes } from "./memory-limit.ts";

const keptOf = (resource: string, content: object): number => {
  const key = `/registry/vc-a/group/${resource}/a`;
  const object = { apiVersion: "v1", kind: "K", metadata: { name: "a" }, ...content };
  const value = encodeStoredValue(object as never);
  return keptMemoryOf(`/registry/vc-a/group/${resource}/`)(CachedObject.fromEntry({ key, value, revision: 1 }));
};
const many = <T>(make: (index: number) => T): T[] => Array.from({ length: 1_000 }, (_, index) => make(index));
const managedFields = many((index) => ({ manager: `m${index}`, fieldsV1: { "f:spec": { "f:rules": {} } } }));

it.each<[string, object, object]>([
  ["roles", { rules: many(() => ({ verbs: ["get"], resources: ["a"] })) }, { rules: [] }],
  ["clusterrolebindings", { subjects: many((n) => ({ kind: "User", name: `${n}` })) }, { subjects: [] }],
  ["ownedaccesskeys", { spec: { scope: { projects: many((n) => ({ project: `${n}` })) } } }, { spec: {} }],
  ["teams", { spec: { users: many(String) } }, { spec: {} }],
  ["configmaps", { metadata: { labels: Object.fromEntries(many((n) => [`k${n}`, ""])) } }, {}],
  ["configmaps", { metadata: { ownerReferences: many((n) => ({ kind: "A", name: "b", uid: `${n}` })) } }, {}],
  ["validatingadmissionpolicies", { spec: { validations: many((n) => ({ expression: `${n}>1` })) } }, { spec: {} }],
])("reckons what is kept of %s beside its bytes", (resource, full, empty) => {
  expect(keptOf(resource, full) - keptOf(resource, empty)).toBeGreaterThan(90_000);
});

it("reckons nothing for texts and maps that are only stored, nor for the managers of fields", () => {
  const data = Object.fromEntries(many((n) => [`k${n}`, "v"]));
  expect(keptOf("configmaps", { data })).toBe(0);
  expect(keptOf("secrets", { metadata: { managedFields }, data })).toBe(0);
  expect(keptOf("roles", { metadata: { managedFields }, rules: [] })).toBeLessThan(1_000);
});

it("adds up to nothing again when all objects have gone, whatever they had in between", async () => {
  const storage = createMemoryStorage();
  const { scheduler } = systemRuntime;
  await using cache = createWatchCache({ storage, prefix: "/registry/", scheduler, ...cacheBudgets(1 << 20) });
  await cache.ready();
  const key = "/registry/vc-a/rbac.authorization.k8s.io/roles/ns/a";
  const value = (rules: number): Uint8Array =>
    encodeStoredValue({
      apiVersion: "v1",
      kind: "Role",
      metadata: { name: "a" },
      rules: Array.from({ length: rules }, () => ({ verbs: ["get"] })),
    } as never);
  let revision = await storage.create(key, value(100));
  await cache.waitFor(revision);
  const large = cache.usage.of("vc-a");
  expect(large.kept).toBeGreaterThan(10_000);
  revision = await storage.update(key, value(1), revision);
  await cache.waitFor(revision);
  expect(residentBytes(cache.usage.of("vc-a"))).toBeLessThan(residentBytes(large) / 5);
  await cache.waitFor(await storage.delete(key, revision));
  expect(cache.usage.of("vc-a")).toEqual({ objects: 0, bytes: 0, kept: 0 });
});
