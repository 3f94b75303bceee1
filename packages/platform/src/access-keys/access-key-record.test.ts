import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { expect, it } from "vitest";
import { restrictionNames } from "../api/access-key-restrictions.ts";
import { createAccessKeyReader, type ReadAccessKey } from "./access-key-reader.ts";

const read = createAccessKeyReader("/keys/", restrictionNames("postern"), () => undefined);

/** The key "k" with a value, and with those that rotations have replaced. */
function stored(uid: string, id: string, retired: readonly string[]): CachedObject {
  const kept = (id: string) => ({ id, digest: id, structured: true });
  const value = encodeStoredValue(
    { apiVersion: "v1", kind: "OwnedAccessKey", metadata: { name: "k", uid }, spec: { user: "jane" } },
    { key: kept(id), retired: retired.map((old) => ({ ...kept(old), until: 5, nonce: "" })) },
  );
  return CachedObject.fromEntry({ key: "/keys/k", value, revision: 1 });
}

const epochs = ({ record, retired }: ReadAccessKey) =>
  [record, ...retired].map(({ id, epoch }) => `${id} since ${epoch}`);

it("keeps when a key and each of its replaced values were learned, until there is another key of that name", () => {
  const first = read(stored("u1", "a", []), 1);
  expect(epochs(first)).toEqual(["a since 1"]);
  const rotated = read(stored("u1", "b", ["a"]), 2, first);
  expect(epochs(rotated)).toEqual(["b since 1", "a since 2"]);
  const again = read(stored("u1", "c", ["a", "b"]), 3, rotated);
  expect(epochs(again)).toEqual(["c since 1", "a since 2", "b since 3"]);
  expect(epochs(read(stored("u2", "d", []), 4, again))).toEqual(["d since 4"]);
});
