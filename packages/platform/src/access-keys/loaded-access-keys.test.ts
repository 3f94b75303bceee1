import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { createClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createAccessKeyReader } from "./access-key-reader.ts";
import type { AccessKeyRecord } from "./access-key-record.ts";
import { restrictionNames } from "./access-key-restrictions.ts";
import { AccessKeyTable } from "./access-key-table.ts";
import { LoadedAccessKeys } from "./loaded-access-keys.ts";

const epoch = createClockEpochs({ now: () => 0, elapsed: () => 0 }).current();
const NUMBERS = [0, 1, 2, 3, 4, 5];

const someKey = fc.record({
  number: fc.constantFrom(...NUMBERS),
  version: fc.nat({ max: 2 }),
  owner: fc.nat({ max: 2 }),
  hasId: fc.boolean(),
  structured: fc.boolean(),
  isRotated: fc.boolean(),
  parents: fc.uniqueArray(fc.nat({ max: 5 }), { maxLength: 2 }),
  /** Written by somebody else, in another order. */
  isOtherwise: fc.boolean(),
});
type SomeKey = typeof someKey extends fc.Arbitrary<infer Key> ? Key : never;

const digestOf = (name: string): Buffer => Buffer.from(name.padEnd(32));
const kept = (id: string, structured: boolean) => ({ id, digest: digestOf(id).toString("base64url"), structured });

function objectOf({
  number,
  version,
  owner,
  hasId,
  structured,
  isRotated,
  parents,
  isOtherwise,
}: SomeKey): CachedObject {
  const metadata = { name: `key${number}`, uid: `uid${number}` };
  const object: KubeObject = { apiVersion: "v1", kind: "OwnedAccessKey", metadata, spec: { user: `owner${owner}` } };
  const key = hasId ? { key: kept(`id${number}-${version}`, structured) } : {};
  const retired = isRotated ? { retired: [{ ...kept(`old${number}`, true), until: 5, nonce: "" }] } : {};
  const others = { ...retired, parents: parents.map((parent) => `uid${parent}`) };
  const value = encodeStoredValue(object, isOtherwise ? { ...others, ...key } : { ...key, ...others });
  return CachedObject.fromEntry({ key: `/keys/key${number}`, value, revision: 1 });
}

const read = createAccessKeyReader("/keys/", restrictionNames("postern"), () => undefined);
const show = (record: AccessKeyRecord | undefined) => record && `${record.name} ${record.id} ${record.isRetiredValue}`;
const showAll = (records: Iterable<AccessKeyRecord>) => [...records].map(show).sort();

const question = fc.record({
  ask: fc.constantFrom("byName", "byId", "byOldId", "byUid", "byDigest", "retiredOf", "ownedBy", "childrenOf", "all"),
  number: fc.constantFrom(...NUMBERS),
  version: fc.nat({ max: 2 }),
});
type Question = typeof question extends fc.Arbitrary<infer Each> ? Each : never;

function answer(keys: LoadedAccessKeys | AccessKeyTable, { ask, number, version }: Question) {
  const name = `key${number}`;
  const id = `id${number}-${version}`;
  switch (ask) {
    case "byName":
      return show(keys.byName(name));
    case "byId":
      return show(keys.byId(id));
    case "byOldId":
      return show(keys.byId(`old${number}`));
    case "byUid":
      return show(keys.byUid(`uid${number}`));
    case "byDigest":
      return [keys.hasDigests, show(keys.byDigest(digestOf(id)))];
    case "retiredOf":
      return showAll(keys.retiredOf(name));
    case "ownedBy":
      return showAll(keys.ownedBy({ kind: "user", name: `owner${version}` }));
    case "childrenOf":
      return showAll(keys.childrenOf(`uid${number}`));
    case "all":
      return showAll(keys.all());
  }
}

describe("LoadedAccessKeys", () => {
  it("answers as if all had been read, whatever is asked and changed before they are", async () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: question },
      { weight: 1, arbitrary: someKey.map((put) => ({ put })) },
      { weight: 1, arbitrary: fc.constantFrom(...NUMBERS).map((number) => ({ remove: `key${number}` })) },
      { weight: 1, arbitrary: fc.constant({ wait: true }) },
    );
    const loaded = fc.uniqueArray(someKey, { selector: ({ number }) => number, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(loaded, fc.array(step, { maxLength: 8 }), async (objects, steps) => {
        using keys = new LoadedAccessKeys("/keys/", read);
        const table = new AccessKeyTable();
        keys.replace(objects.map(objectOf), epoch);
        for (const object of objects) {
          const { record, retired } = read(objectOf(object), epoch);
          table.set(record, retired);
        }
        for (const each of steps) {
          if ("wait" in each) await keys.whenRead();
          else if ("remove" in each) {
            const retired = showAll(table.retiredOf(each.remove));
            const before = table.remove(each.remove);
            const removed = keys.remove(each.remove);
            expect(show(removed?.record)).toBe(show(before));
            expect(showAll(removed?.retired ?? [])).toEqual(retired);
          } else if ("put" in each) {
            const { record, retired } = read(objectOf(each.put), epoch);
            const before = table.byName(record.name);
            table.set(record, retired);
            const put = keys.put(objectOf(each.put), epoch);
            expect([show(put.record), showAll(put.retired)]).toEqual([show(record), showAll(retired)]);
            expect(show(put.known?.record)).toBe(show(before));
          } else expect(answer(keys, each)).toEqual(answer(table, each));
        }
        expect(showAll(keys.all())).toEqual(showAll(table.all()));
      }),
      { numRuns: 1_000 },
    );
  });

  it("reads nothing but the key that is asked for, and the others when there is time", async () => {
    const names: string[] = [];
    using keys = new LoadedAccessKeys("/keys/", (object, learned, known) => {
      names.push(object.key.slice("/keys/".length));
      return read(object, learned, known);
    });
    const plain = {
      version: 0,
      owner: 0,
      hasId: true,
      structured: true,
      isRotated: false,
      parents: [],
      isOtherwise: false,
    };
    keys.replace(
      NUMBERS.map((number) => objectOf({ ...plain, number })),
      epoch,
    );
    expect(names).toEqual([]);
    expect(show(keys.byId("id3-0"))).toBe("key3 id3-0 false");
    expect(show(keys.byName("key4"))).toBe("key4 id4-0 false");
    expect(show(keys.byUid("uid3"))).toBe("key3 id3-0 false");
    expect(names).toEqual(["key3", "key4"]);
    await keys.whenRead();
    expect(names.toSorted()).toEqual(NUMBERS.map((number) => `key${number}`));
  });

  it("knows of two keys with the same id the first one by it", () => {
    const plain = {
      owner: 0,
      structured: true,
      isRotated: false,
      parents: [],
      isOtherwise: false,
      hasId: true,
      version: 0,
    };
    const twin = CachedObject.fromEntry({
      key: "/keys/twin",
      value: encodeStoredValue(
        { apiVersion: "v1", kind: "OwnedAccessKey", metadata: { name: "twin", uid: "twin" } },
        { key: { ...kept("id1-0", true), digest: digestOf("twin").toString("base64url") } },
      ),
      revision: 1,
    });
    using keys = new LoadedAccessKeys("/keys/", read);
    keys.replace([objectOf({ ...plain, number: 1 }), twin], epoch);
    expect(keys.byId("id1-0")?.name).toBe("key1");
    expect(keys.byDigest(digestOf("twin"))?.name).toBe("twin");
  });
});
