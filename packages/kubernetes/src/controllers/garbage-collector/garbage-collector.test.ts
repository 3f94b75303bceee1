import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTestCluster, ownerReferenceTo, type TestCluster } from "../../builtin/testing/test-cluster.ts";
import { isDeletingDependents, isOrphaningDependents } from "./dependency-graph.ts";
import { createGarbageCollector } from "./garbage-collector.ts";

let cluster: TestCluster;
let collector: Controller;

beforeEach(async () => {
  cluster = await createTestCluster();
  collector = createGarbageCollector(cluster.port);
});
afterEach(async () => {
  collector[Symbol.dispose]();
  await cluster[Symbol.asyncDispose]();
  expect(cluster.port.errors).toEqual([]);
});

const widget = (name: string, owners: object[] = [], more: object = {}): Promise<KubeObject> =>
  cluster.create("widgets", {
    metadata: { name, namespace: "default", ownerReferences: owners as never, ...more },
    spec: {},
  });
const block = { blockOwnerDeletion: true };
const remove = (name: string, propagationPolicy?: "Foreground" | "Background" | "Orphan") =>
  cluster.delete("widgets", { name }, propagationPolicy === undefined ? {} : { propagationPolicy });
const settled = async (): Promise<readonly string[]> => {
  await collector.idle();
  return cluster.names("widgets");
};
const ownersOf = (name: string) =>
  cluster.get("widgets", { name })?.metadata.ownerReferences?.map((reference) => reference.name);

it.each([
  [undefined, true],
  [0, true],
  [1, false],
  [3600, false],
])("an object that is deleted in the foreground with a grace period of %s: dependents go %s", (period, goes) => {
  const metadata = {
    name: "a",
    deletionTimestamp: "2026-01-01T00:00:00Z",
    finalizers: ["foregroundDeletion", "orphan"],
    ...(period === undefined ? {} : { deletionGracePeriodSeconds: period }),
  };
  expect([isDeletingDependents({ metadata }), isOrphaningDependents({ metadata })]).toEqual([goes, goes]);
});

describe("the garbage collector", () => {
  it("deletes dependents, and their dependents, after their owner", async () => {
    const a = await widget("a");
    const b = await widget("b", [ownerReferenceTo(a)]);
    await widget("c", [ownerReferenceTo(b)]);
    await widget("d");
    expect(await settled()).toEqual(["a", "b", "c", "d"]);
    await remove("a");
    expect(await settled()).toEqual(["d"]);
  });

  it("lets dozens go that all own each other, when they are deleted in the foreground", async () => {
    const names = Array.from({ length: 40 }, (_, at) => `clique-${at}`);
    const owners: object[] = [];
    for (const name of names) owners.push(ownerReferenceTo(await widget(name), block));
    for (const name of names) {
      await cluster.update("widgets", { name }, (object) => ({
        ...object,
        metadata: { ...object.metadata, ownerReferences: owners as never },
      }));
    }
    expect(await settled()).toEqual(names.toSorted());
    for (const name of names) await remove(name, "Foreground");
    expect(await settled()).toEqual([]);
  });

  it("rests while objects that own each other wait for one that is kept", async () => {
    const [a, b] = [await widget("a"), await widget("b")];
    for (const name of ["a", "b"]) {
      const ownerReferences = [ownerReferenceTo(name === "a" ? b : a, block)] as never;
      await cluster.update("widgets", { name }, (each) => ({
        ...each,
        metadata: { ...each.metadata, ownerReferences },
      }));
    }
    const finalizers = ["example.com/kept"];
    await widget("c", [ownerReferenceTo(a, block), ownerReferenceTo(b, block)], { finalizers });
    for (const name of ["c", "a", "b"]) await remove(name, "Foreground");
    expect(await settled()).toEqual(["a", "b", "c"]);
    await cluster.update("widgets", { name: "c" }, (each) => ({
      ...each,
      metadata: { ...each.metadata, finalizers: [] },
    }));
    expect(await settled()).toEqual([]);
  });

  it("lets a circle of objects go of which one has a dependent that is kept", async () => {
    const [a, b, c] = [await widget("a"), await widget("b"), await widget("c")];
    const owners = { a: c, b: a, c: b };
    for (const [name, owner] of Object.entries(owners)) {
      const ownerReferences = [ownerReferenceTo(owner, block)] as never;
      await cluster.update("widgets", { name }, (each) => ({
        ...each,
        metadata: { ...each.metadata, ownerReferences },
      }));
    }
    await widget("kept", [ownerReferenceTo(b, block)], { finalizers: ["example.com/kept"] });
    await remove("a", "Foreground");
    expect(await settled()).toEqual(["b", "kept"]);
  });

  it("keeps an object that has another owner, and takes the gone one out of it", async () => {
    const [a, b] = [await widget("a"), await widget("b")];
    await widget("c", [ownerReferenceTo(a), ownerReferenceTo(b)]);
    await remove("a");
    expect(await settled()).toEqual(["b", "c"]);
    expect(ownersOf("c")).toEqual(["b"]);
    await remove("b");
    expect(await settled()).toEqual([]);
  });

  it("collects an object whose owner never was, or is another object of that name", async () => {
    const a = await widget("a");
    await widget("b", [ownerReferenceTo(a, { uid: "another" })]);
    await widget("c", [ownerReferenceTo(a, { name: "absent" })]);
    expect(await settled()).toEqual(["a"]);
  });

  it("reads the store before it treats an owner as absent", async () => {
    const a = await widget("a");
    const { view } = cluster.resource("widgets");
    const get = view.get.bind(view);
    let isBehind = true;
    view.get = (key) => {
      const misses = isBehind && key.endsWith("/a");
      if (misses) isBehind = false;
      return misses ? undefined : get(key);
    };
    await widget("b", [ownerReferenceTo(a)]);
    expect(await settled()).toEqual(["a", "b"]);
    expect(isBehind).toBe(false);
  });

  it("keeps an object whose owner is of a kind that is not served", async () => {
    await widget("a", [{ apiVersion: "nowhere.example.com/v1", kind: "Nothing", name: "n", uid: "u" }]);
    expect(await settled()).toEqual(["a"]);
  });

  it("looks for the owner of a namespaced object only in its namespace, and reports one in another", async () => {
    const a = await widget("a");
    const b = await cluster.create("widgets", {
      metadata: { name: "b", namespace: "other", ownerReferences: [ownerReferenceTo(a)] },
    });
    expect(await settled()).toEqual(["a"]);
    await expect.poll(() => cluster.names("events")).toHaveLength(1);
    const [name = ""] = cluster.names("events");
    expect(name).toMatch(/^b\./);
    expect(cluster.get("events", { namespace: "other", name })).toMatchObject({
      involvedObject: { apiVersion: b.apiVersion, kind: b.kind, namespace: "other", name: "b", uid: b.metadata.uid },
      type: "Warning",
      reason: "OwnerRefInvalidNamespace",
      message: `ownerRef [${a.apiVersion}/Widget, namespace: other, name: a, uid: ${a.metadata.uid}] does not exist in namespace "other"`,
      source: { component: "garbage-collector-controller" },
    });
  });

  it("reports a namespaced owner of a cluster-scoped object once, and again for a new owner of the same name", async () => {
    const a = await widget("a");
    const create = () => cluster.create("gadgets", { metadata: { name: "g", ownerReferences: [ownerReferenceTo(a)] } });
    const touch = (value: string) =>
      cluster.update("gadgets", { name: "g" }, (current) => ({
        ...current,
        metadata: { ...current.metadata, annotations: { touched: value } },
      }));
    await create();
    await settled();
    for (const value of ["1", "2", "3"]) {
      await touch(value);
      await settled();
    }
    await expect.poll(() => cluster.names("events")).toHaveLength(1);
    const [name = ""] = cluster.names("events");
    expect(cluster.get("events", { namespace: "default", name })).toMatchObject({
      involvedObject: { kind: "Gadget", name: "g" },
      message: `ownerRef [${a.apiVersion}/Widget, namespace: , name: a, uid: ${a.metadata.uid}] does not exist in namespace ""`,
    });
    await cluster.delete("gadgets", { name: "g" });
    await create();
    await settled();
    await expect.poll(() => cluster.names("events")).toHaveLength(2);
  });

  it("reports no valid, deleted or replaced owners", async () => {
    const a = await widget("a");
    await cluster.create("widgets", { metadata: { name: "a", namespace: "other" } });
    await widget("kept", [ownerReferenceTo(a)]);
    await widget("left", [ownerReferenceTo(a), ownerReferenceTo(a, { name: "absent", uid: "gone" })]);
    await cluster.create("widgets", {
      metadata: { name: "b", namespace: "other", ownerReferences: [ownerReferenceTo(a, { uid: "another" })] },
    });
    await settled();
    // Observers are notified in the order of the changes.
    await cluster.create("widgets", {
      metadata: { name: "last", namespace: "other", ownerReferences: [ownerReferenceTo(a)] },
    });
    await settled();
    await expect.poll(() => cluster.names("events")).toEqual([expect.stringMatching(/^last\./)]);
  });

  it("never collects a cluster-scoped object for a namespaced owner", async () => {
    const a = await widget("a");
    await cluster.create("gadgets", { metadata: { name: "g", ownerReferences: [ownerReferenceTo(a)] } });
    await remove("a");
    await settled();
    expect(cluster.names("gadgets")).toEqual(["g"]);
  });

  it("collects a namespaced object for a cluster-scoped owner", async () => {
    const g = await cluster.create("gadgets", { metadata: { name: "g" } });
    await widget("a", [ownerReferenceTo(g)]);
    await cluster.delete("gadgets", { name: "g" });
    expect(await settled()).toEqual([]);
  });

  it("lets the owner wait for blocking dependents in a foreground deletion, and not for others", async () => {
    const a = await widget("a");
    await widget("b", [ownerReferenceTo(a, block)], { finalizers: ["example.com/held"] });
    await widget("c", [ownerReferenceTo(a)], { finalizers: ["example.com/held"] });
    await remove("a", "Foreground");
    expect(await settled()).toEqual(["a", "b", "c"]);
    expect(cluster.get("widgets", { name: "c" })?.metadata.deletionTimestamp).toBeDefined();
    await cluster.update("widgets", { name: "b" }, (b) => ({ ...b, metadata: { ...b.metadata, finalizers: [] } }));
    expect(await settled()).toEqual(["c"]);
  });

  it("lets no owner wait for a dependent that names another object with its uid", async () => {
    const a = await widget("a");
    await widget("mine");
    const finalizers = ["example.com/held"];
    await widget("b", [ownerReferenceTo(a, { ...block, name: "mine" })], { finalizers });
    await cluster.create("gadgets", { metadata: { name: "g" } });
    await widget("c", [ownerReferenceTo(a, { ...block, kind: "Gadget", name: "g" })], { finalizers });
    await remove("a", "Foreground");
    expect(await settled()).toEqual(["b", "c", "mine"]);
  });

  it("deletes down a chain in the foreground", async () => {
    const a = await widget("a");
    const b = await widget("b", [ownerReferenceTo(a, block)]);
    await widget("c", [ownerReferenceTo(b, block)], { finalizers: ["example.com/held"] });
    await remove("a", "Foreground");
    expect(await settled()).toEqual(["a", "b", "c"]);
    await cluster.update("widgets", { name: "c" }, (c) => ({ ...c, metadata: { ...c.metadata, finalizers: [] } }));
    expect(await settled()).toEqual([]);
  });

  it("does not let objects that own each other wait for ever", async () => {
    const a = await widget("a");
    const b = await widget("b", [ownerReferenceTo(a, block)]);
    await cluster.update("widgets", { name: "a" }, (object) => ({
      ...object,
      metadata: { ...object.metadata, ownerReferences: [ownerReferenceTo(b, block)] },
    }));
    await remove("a", "Foreground");
    expect(await settled()).toEqual([]);
  });

  it("does not let an object that owns itself wait for itself", async () => {
    const a = await widget("a");
    await cluster.update("widgets", { name: "a" }, (object) => ({
      ...object,
      metadata: { ...object.metadata, ownerReferences: [ownerReferenceTo(a, block)] },
    }));
    expect(await settled()).toEqual(["a"]);
    await remove("a", "Foreground");
    expect(await settled()).toEqual([]);
  });

  it("leaves dependents behind when asked to", async () => {
    const [a, z] = [await widget("a"), await widget("z")];
    await widget("b", [ownerReferenceTo(a), ownerReferenceTo(z)]);
    await widget("c", [ownerReferenceTo(a)]);
    await remove("a", "Orphan");
    expect(await settled()).toEqual(["b", "c", "z"]);
    expect(ownersOf("b")).toEqual(["z"]);
    expect(ownersOf("c")).toBe(undefined);
  });

  it.each([1, 2, 3, 4, 5])(
    "leaves no object behind whose owners are all gone, nor takes one that has an owner (seed %i)",
    async (seed) => {
      const below = randomNumbers(seed);
      const objects: KubeObject[] = [];
      for (let at = 0; at < 20; at++) {
        const owners = new Set(Array.from({ length: below(3) }, () => objects[below(at)]).filter((owner) => owner));
        const references = [...owners].map((owner) => ownerReferenceTo(owner!, { blockOwnerDeletion: below(2) === 0 }));
        objects.push(await widget(`w${at}`, references));
      }
      const expected = new Map(objects.map((object) => [object.metadata.name!, object.metadata.ownerReferences ?? []]));
      for (let round = 0; round < 4; round++) {
        const names = [...expected.keys()];
        const name = names[below(names.length)];
        if (name === undefined) break;
        const policy = (["Background", "Foreground", "Orphan"] as const)[below(3)]!;
        await remove(name, policy);
        expected.delete(name);
        if (policy === "Orphan") {
          for (const [key, owners] of expected)
            expected.set(
              key,
              owners.filter((owner) => owner.name !== name),
            );
        }
        dropOwnerless(expected, policy === "Orphan" ? "" : name);
        expect([...(await settled())].sort()).toEqual([...expected.keys()].sort());
      }
    },
  );

  it("finds at its start what happened while it was away", async () => {
    collector[Symbol.dispose]();
    const a = await widget("a");
    await widget("b", [ownerReferenceTo(a)]);
    await remove("a");
    expect(cluster.names("widgets")).toEqual(["b"]);
    collector = createGarbageCollector(cluster.port);
    expect(await settled()).toEqual([]);
  });
});

/** Removes `gone` from the owners in a model of the store, and objects that have no owner left. */
function dropOwnerless(model: Map<string, readonly { readonly name: string }[]>, gone: string): void {
  for (const [name, owners] of model) {
    const left = owners.filter((owner) => owner.name !== gone);
    if (left.length === owners.length) continue;
    model.set(name, left);
    if (left.length > 0) continue;
    model.delete(name);
    dropOwnerless(model, name);
  }
}
