import type { Credential } from "@postern/api/credential-ledger";
import { expect, it } from "vitest";
import { treeOf } from "./credential-tree.tsx";

const credential = (id: string, ...parents: readonly string[]): Credential => ({ id, kind: "AccessKey", parents });
type Shape = { readonly [id: string]: Shape };
const shapeOf = (nodes: ReturnType<typeof treeOf>): Shape =>
  Object.fromEntries(nodes.map((node) => [node.credential.id, shapeOf(node.below)]));

it("puts each credential once, below the one that created it", () => {
  const list = [credential("a"), credential("b", "a"), credential("c", "b", "a"), credential("d", "gone")];
  expect(shapeOf(treeOf(list))).toEqual({ a: { b: { c: {} } }, d: {} });
});

it("shows a credential that names itself", () => {
  expect(shapeOf(treeOf([credential("a", "a")]))).toEqual({ a: {} });
});
