import type { OwnerReference } from "@postern/apimachinery/meta/object-meta";
import { describe, expect, it } from "vitest";
import { DependencyGraph, MAX_FOLLOWED } from "./dependency-graph.ts";

const keyOf = (name: string): string => `/registry/c/core/configmaps/default/${name}`;
const owner = (name: string, blockOwnerDeletion = true): OwnerReference => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  name,
  uid: `uid-${name}`,
  blockOwnerDeletion,
});
const waiting = { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["foregroundDeletion"] };

/** Objects as `name: owners`; those whose name is in `waits` are deleted in the foreground. */
function graphOf(objects: { readonly [name: string]: readonly OwnerReference[] }, waits: readonly string[]) {
  const graph = new DependencyGraph();
  for (const [name, ownerReferences] of Object.entries(objects)) {
    const metadata = { name, uid: `uid-${name}`, ownerReferences, ...(waits.includes(name) ? waiting : {}) };
    graph.set(keyOf(name), { metadata });
  }
  return graph;
}

const isBlocked = (graph: DependencyGraph, name: string): boolean =>
  graph.isBlocked({ key: keyOf(name), uid: `uid-${name}` }, () => true);

describe("an object that is deleted in the foreground", () => {
  it.each<[string, { readonly [name: string]: readonly OwnerReference[] }, readonly string[], boolean]>([
    ["by a dependent", { a: [], b: [owner("a")] }, ["a"], true],
    ["by a dependent that does not ask for it", { a: [], b: [owner("a", false)] }, ["a"], false],
    ["by a dependent that waits for others", { a: [], b: [owner("a")], c: [owner("b")] }, ["a", "b"], true],
    ["by a dependent that waits for it", { a: [owner("b")], b: [owner("a")] }, ["a", "b"], false],
    ["by a dependent that it does not wait for", { a: [owner("b")], b: [owner("a")] }, ["a"], true],
    [
      "by a dependent that waits for it through another",
      { a: [owner("c")], b: [owner("a")], c: [owner("b")] },
      ["a", "b", "c"],
      false,
    ],
    ["through one that does not wait", { a: [owner("c")], b: [owner("a")], c: [owner("b")] }, ["a", "b"], true],
    ["by itself", { a: [owner("a")] }, ["a"], false],
    ["by a second reference", { a: [], b: [owner("a", false), owner("a")] }, ["a"], true],
  ])("is blocked %s: %s", (_, objects, waits, blocked) => {
    expect(isBlocked(graphOf(objects, waits), "a")).toBe(blocked);
  });

  it("costs little beside hundreds that all wait for each other", () => {
    const names = Array.from({ length: 200 }, (_, at) => `w${at}`);
    const graph = graphOf(Object.fromEntries(names.map((name) => [name, names.map((each) => owner(each))])), names);
    for (const name of names) expect(isBlocked(graph, name)).toBe(false);
    expect(graph.followed).toBeLessThanOrEqual(names.length * (MAX_FOLLOWED + 1));
    graph.set(keyOf("free"), { metadata: { name: "free", uid: "uid-free", ownerReferences: [owner("w0")] } });
    expect(isBlocked(graph, "w0")).toBe(true);
  });
});

describe("an object that begins to wait", () => {
  const begin = (graph: DependencyGraph, name: string, ownerReferences: readonly OwnerReference[]) =>
    graph.set(keyOf(name), { metadata: { name, uid: `uid-${name}`, ownerReferences, ...waiting } });

  it("brings back all that wait for it if it closes their circle", () => {
    const graph = graphOf({ a: [owner("c")], b: [owner("a")], c: [owner("b")] }, ["a", "b"]);
    expect(begin(graph, "c", [owner("b")])).toEqual(expect.arrayContaining([keyOf("a"), keyOf("b"), keyOf("c")]));
  });

  it("brings back no more than its neighbours at the end of a long chain, and follows it once", () => {
    const names = Array.from({ length: 500 }, (_, at) => `c${at}`);
    const ownersOf = (at: number) => (at === 0 ? [] : [owner(names[at - 1] ?? "")]);
    const graph = graphOf(Object.fromEntries(names.map((name, at) => [name, ownersOf(at)])), []);
    for (const [at, name] of names.entries()) {
      const before = graph.followed;
      expect(new Set(begin(graph, name, ownersOf(at))).size).toBeLessThanOrEqual(3);
      expect(graph.followed - before).toBeLessThanOrEqual(at);
    }
  });

  it("brings back its owners alone where too many wait to tell", () => {
    const names = Array.from({ length: MAX_FOLLOWED + 1 }, (_, at) => `w${at}`);
    const owners = names.map((name) => owner(name));
    const graph = graphOf({ last: owners }, []);
    for (const name of names) begin(graph, name, []);
    expect(isBlocked(graph, "w0")).toBe(true);
    expect(new Set(begin(graph, "last", owners))).toEqual(new Set([keyOf("last"), ...names.map(keyOf)]));
  });
});

it("knows the dependents of each resource", () => {
  const graph = graphOf({ a: [], b: [owner("a")], c: [owner("a")] }, []);
  expect(graph.dependentsBelow("/registry/c/core/configmaps/")).toEqual([keyOf("b"), keyOf("c")]);
  graph.remove(keyOf("b"), "uid-b");
  expect(graph.dependentsBelow("/registry/c/core/configmaps/")).toEqual([keyOf("c")]);
  expect(graph.dependentsBelow("/registry/c/core/secrets/")).toEqual([]);
});
