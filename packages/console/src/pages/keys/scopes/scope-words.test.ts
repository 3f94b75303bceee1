import { expect, it } from "vitest";
import { scopeWords } from "./scope-words.ts";

const clusters = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ project: "shop", virtualCluster: `c${index}` }));

it("names a few places each, and counts many with their names behind", () => {
  expect(scopeWords({ scope: { virtualClusters: clusters(2) } }).can).toHaveLength(3);
  const { can } = scopeWords({
    scope: { virtualClusters: [...clusters(38), { project: "all", virtualCluster: "*" }] },
  });
  expect(can.map(({ names }) => names?.length)).toEqual([undefined, 38, undefined]);
  expect(can[1]?.text).toContain("38 virtual clusters");
  expect(can[0]?.text).toContain("every virtual cluster of the project all");
});

it("says what a key cannot do only where that surprises", () => {
  expect(scopeWords({}).cannot).toEqual([]);
  expect(scopeWords({ scope: { virtualClusters: clusters(1) } }).cannot).toEqual([]);
  expect(scopeWords({ scope: { projects: [{ project: "shop" }] } }).cannot).toHaveLength(2);
  expect(scopeWords({ scope: {} }).cannot).toHaveLength(1);
  expect(scopeWords({ scope: {}, rules: [{}] }).cannot).toEqual([]);
});
