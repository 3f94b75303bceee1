import { restrictionNames } from "@postern/api/access-key-restrictions";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { createClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { AccessKeyRecord } from "../record/access-key-record.ts";
import { createStoredAccessKeyReader } from "../record/stored-access-key.ts";
import { AccessKeyTable } from "./access-key-table.ts";

const read = createStoredAccessKeyReader("/keys/");
const epoch = createClockEpochs({ now: () => 0, elapsed: () => 0 }).current();

const few = (prefix: string) => fc.nat({ max: 3 }).map((number) => `${prefix}${number}`);
const UIDS = ["uid0", "uid1", "uid2", "uid3"];
const KINDS = ["user", "team", "subject"] as const;
const someKey = fc.record({
  name: few("name"),
  uid: few("uid"),
  kind: fc.constantFrom(...KINDS),
  owner: few("owner"),
  parents: fc.uniqueArray(few("uid"), { maxLength: 3 }),
  scope: fc.record({
    projects: fc.array(fc.record({ project: few("project") }), { maxLength: 2 }),
    spaces: fc.array(fc.record({ project: few("project") }), { maxLength: 2 }),
    roles: fc.constantFrom([], [{ role: "workspace", projects: ["project0"] }]),
  }),
});
type SomeKey = typeof someKey extends fc.Arbitrary<infer Key> ? Key : never;

function recordOf({ name, uid, kind, owner, parents, scope }: SomeKey): AccessKeyRecord {
  const metadata = { name, uid };
  const object: KubeObject = { apiVersion: "v1", kind: "OwnedAccessKey", metadata, spec: { [kind]: owner, scope } };
  const sealed = { key: { id: `id-of-${name}`, digest: name, structured: true }, parents };
  const value = encodeStoredValue(object, sealed);
  const stored = read(CachedObject.fromEntry({ key: `/keys/${name}`, value, revision: 1 }));
  return new AccessKeyRecord(stored, restrictionNames("postern"), () => undefined, epoch);
}

it("finds keys by each of their attributes, and nothing else", () => {
  const change = fc.oneof(
    { weight: 2, arbitrary: someKey.map((key) => ({ name: key.name, record: recordOf(key) })) },
    { weight: 1, arbitrary: few("name").map((name) => ({ name, record: undefined })) },
  );
  fc.assert(
    fc.property(fc.array(change, { maxLength: 20 }), fc.boolean(), (changes, cleared) => {
      const table = new AccessKeyTable();
      const model = new Map<string, AccessKeyRecord>();
      for (const { name, record } of changes) {
        const before = record === undefined ? table.remove(name) : table.set(record);
        expect(before).toBe(model.get(name));
        model.delete(name);
        if (record !== undefined) model.set(name, record);
        // Between changes, as requests do.
        expect(table.byId(`id-of-${name}`)).toBe(record);
      }
      if (cleared) {
        table.clear();
        model.clear();
      }
      const all = [...model.values()];
      expect(table.size).toBe(all.length);
      expect(new Set(table.all())).toEqual(new Set(all));
      for (const record of all) {
        expect(table.byName(record.name)).toBe(record);
        expect(table.byId(record.id)).toBe(record);
      }
      for (const kind of KINDS) {
        for (const name of ["owner0", "owner1", "owner2", "owner3"]) {
          const owned = all.filter(({ owner }) => owner.kind === kind && owner.name === name);
          expect(new Set(table.ownedBy({ kind, name }))).toEqual(new Set(owned));
        }
      }
      for (const project of ["project0", "project1", "project2", "project3"]) {
        const scoped = all.filter(({ restrictions }) => {
          const { projects = [], spaces = [] } = restrictions?.scope ?? {};
          return [...projects, ...spaces].some((entry) => entry.project === project);
        });
        expect(table.scopedTo(project)).toHaveLength(scoped.length);
        expect(new Set(table.scopedTo(project))).toEqual(new Set(scoped));
      }
      for (const uid of UIDS) {
        const children = all.filter(({ parentUids }) => parentUids.includes(uid));
        expect(new Set(table.childrenOf(uid))).toEqual(new Set(children));
        // Where records have the same uid, the one that came last stands for it for as long as it is there.
        const withUid = all.filter((record) => record.uid === uid);
        expect(table.byUid(uid) === undefined || withUid.includes(table.byUid(uid) as AccessKeyRecord)).toBe(true);
      }
    }),
  );
});
