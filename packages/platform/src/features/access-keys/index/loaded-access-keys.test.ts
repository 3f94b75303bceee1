import { setImmediate as nextTurn } from "node:timers/promises";
import { restrictionNames } from "@postern/api/access-key-restrictions";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { createClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createAccessKeyReader, type ReadAccessKey } from "../record/access-key-reader.ts";
import type { AccessKeyRecord } from "../record/access-key-record.ts";
import { AccessKeyTable } from "./access-key-table.ts";
import { LoadedAccessKeys } from "./loaded-access-keys.ts";

const epoch = createClockEpochs({ now: () => 0, elapsed: () => 0 }).current();
const LATER = epoch + 1;
const NUMBERS = [0, 1, 2, 3, 4, 5];

const someKey = fc.record({
  number: fc.constantFrom(...NUMBERS),
  version: fc.nat({ max: 2 }),
  owner: fc.nat({ max: 2 }),
  hasId: fc.boolean(),
  structured: fc.boolean(),
  isRotated: fc.boolean(),
  parents: fc.uniqueArray(fc.nat({ max: 5 }), { maxLength: 2 }),
  /** Deleted, and made again under the same name. */
  isAnother: fc.boolean(),
  /** Written by another client, in another order. */
  isOtherwise: fc.boolean(),
});
type SomeKey = typeof someKey extends fc.Arbitrary<infer Key> ? Key : never;

const someKeys = fc.uniqueArray(someKey, { selector: ({ number }) => number, maxLength: 6 });
const someEpoch = fc.constantFrom(epoch, LATER);

const PLAIN: Omit<SomeKey, "number"> = {
  version: 0,
  owner: 0,
  hasId: true,
  structured: true,
  isRotated: false,
  parents: [],
  isAnother: false,
  isOtherwise: false,
};

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
  isAnother,
  isOtherwise,
}: SomeKey): CachedObject {
  const metadata = { name: `key${number}`, uid: isAnother ? `other${number}` : `uid${number}` };
  const object: KubeObject = { apiVersion: "v1", kind: "OwnedAccessKey", metadata, spec: { user: `owner${owner}` } };
  const key = hasId ? { key: kept(`id${number}-${version}`, structured) } : {};
  const retired = isRotated ? { retired: [{ ...kept(`old${number}`, true), until: 5, nonce: "" }] } : {};
  const others = { ...retired, parents: parents.map((parent) => `uid${parent}`) };
  const value = encodeStoredValue(object, isOtherwise ? { ...others, ...key } : { ...key, ...others });
  return CachedObject.fromEntry({ key: `/keys/key${number}`, value, revision: 1 });
}

const read = createAccessKeyReader("/keys/", restrictionNames("postern"), () => undefined);
const show = (record: AccessKeyRecord | undefined) =>
  record && `${record.name} ${record.uid} ${record.id} ${record.isRetiredValue} ${record.epoch}`;
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

/** The same keys in a table, which are all read as soon as they are there. */
class KeysReadAtOnce {
  readonly table = new AccessKeyTable();

  replace(objects: readonly CachedObject[], learned: number): void {
    this.table.clear();
    for (const object of objects) this.#set(read(object, learned));
  }

  put(object: CachedObject, learned: number) {
    const name = object.key.slice("/keys/".length);
    const record = this.table.byName(name);
    const known = record && { record, retired: this.table.retiredOf(name) };
    return { ...this.#set(read(object, learned, known)), known };
  }

  remove(name: string) {
    const retired = this.table.retiredOf(name);
    const record = this.table.remove(name);
    return record && { record, retired };
  }

  #set(key: ReadAccessKey): ReadAccessKey {
    this.table.set(key.record, key.retired);
    return key;
  }
}

const showKey = (key: ReadAccessKey | undefined) => key && [show(key.record), ...showAll(key.retired)];

describe("LoadedAccessKeys", () => {
  it("answers as if all had been read, whatever is asked and changed before they are", async () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: question },
      { weight: 1, arbitrary: fc.record({ put: someKey, learned: someEpoch }) },
      { weight: 1, arbitrary: fc.constantFrom(...NUMBERS).map((number) => ({ remove: `key${number}` })) },
      { weight: 1, arbitrary: fc.record({ replace: someKeys, learned: someEpoch }) },
      { weight: 1, arbitrary: fc.constant({ wait: true }) },
    );
    await fc.assert(
      fc.asyncProperty(someKeys, fc.array(step, { maxLength: 8 }), fc.integer(), async (objects, steps, seed) => {
        using keys = new LoadedAccessKeys("/keys/", read, seed);
        const expected = new KeysReadAtOnce();
        for (const each of [keys, expected]) each.replace(objects.map(objectOf), epoch);
        for (const each of steps) {
          if ("wait" in each) await keys.whenRead();
          else if ("replace" in each) {
            for (const loaded of [keys, expected]) loaded.replace(each.replace.map(objectOf), each.learned);
          } else if ("remove" in each) {
            expect(showKey(keys.remove(each.remove))).toEqual(showKey(expected.remove(each.remove)));
          } else if ("put" in each) {
            const [put, wanted] = [keys, expected].map((loaded) => loaded.put(objectOf(each.put), each.learned));
            expect([showKey(put), showKey(put?.known)]).toEqual([showKey(wanted), showKey(wanted?.known)]);
          } else expect(answer(keys, each)).toEqual(answer(expected.table, each));
        }
        expect(showAll(keys.all())).toEqual(showAll(expected.table.all()));
      }),
      { numRuns: 400 },
    );
  });

  /** Keys of these numbers, and which of them have been read. */
  const loaded = (numbers: readonly number[]) => {
    const names: string[] = [];
    const keys = new LoadedAccessKeys("/keys/", (object, learned, known) => {
      names.push(object.key.slice("/keys/".length));
      return read(object, learned, known);
    });
    const replace = () =>
      keys.replace(
        numbers.map((number) => objectOf({ ...PLAIN, number })),
        epoch,
      );
    replace();
    return { keys, names, replace };
  };

  it("reads nothing but the key that is asked for, and the others when there is time", async () => {
    const { keys, names } = loaded(NUMBERS);
    using _ = keys;
    expect(names).toEqual([]);
    expect(keys.byId("id3-0")?.name).toBe("key3");
    expect(keys.byName("key4")?.id).toBe("id4-0");
    expect(keys.byUid("uid3")?.name).toBe("key3");
    expect(names).toEqual(["key3", "key4"]);
    await keys.whenRead();
    expect(names.toSorted()).toEqual(NUMBERS.map((number) => `key${number}`));
  });

  it("reads keys that are not requested in parts between events, also after they are replaced", async () => {
    // More than are read in one turn.
    const many = Array.from({ length: 250 }, (_, number) => number);
    const { keys, names, replace } = loaded(many);
    using _ = keys;
    for (let round = 0; round < 2; round++) {
      const counts: number[] = [];
      for (let turn = 0; turn < 4; turn++) {
        counts.push(names.length);
        await nextTurn();
      }
      expect(counts).toEqual([0, 100, 200, 250]);
      names.length = 0;
      replace();
    }
    expect([...keys.all()]).toHaveLength(many.length);
  });

  it("reads no more once it is disposed", async () => {
    const { keys, names } = loaded(NUMBERS);
    keys[Symbol.dispose]();
    for (let turn = 0; turn < 3; turn++) await nextTurn();
    expect(names).toEqual([]);
  });

  it("finds the first of two keys with the same id", () => {
    const twin = CachedObject.fromEntry({
      key: "/keys/twin",
      value: encodeStoredValue(
        { apiVersion: "v1", kind: "OwnedAccessKey", metadata: { name: "twin", uid: "twin" } },
        { key: { ...kept("id1-0", true), digest: digestOf("twin").toString("base64url") } },
      ),
      revision: 1,
    });
    using keys = new LoadedAccessKeys("/keys/", read);
    keys.replace([objectOf({ ...PLAIN, number: 1 }), twin], epoch);
    expect(keys.byId("id1-0")?.name).toBe("key1");
    expect(keys.byDigest(digestOf("twin"))?.name).toBe("twin");
  });
});
