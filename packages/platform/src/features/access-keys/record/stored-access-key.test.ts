import { restrictionNames } from "@postern/api/access-key-restrictions";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { createClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createAccessKeyReader } from "./access-key-reader.ts";
import { AccessKeyRecord } from "./access-key-record.ts";
import { createStoredAccessKeyReader, type StoredAccessKey, toStoredAccessKey } from "./stored-access-key.ts";

const text = fc.oneof(fc.constantFrom("", "admin", 'say "hi"', "a\\b", "jürgen", "\u{1f511}"), fc.string());
const texts = fc.array(text, { maxLength: 3 });
const time = fc.constantFrom("2026-11-22T00:05:32Z", "2030-01-01T00:00:00Z", "no time");
const optional = <T>(values: { [name: string]: fc.Arbitrary<T> }) => fc.record(values, { requiredKeys: [] });
const rules = fc.array(optional<unknown>({ verbs: texts, namespaces: texts, cluster: text }), { maxLength: 2 });
const scope = optional<unknown>({
  roles: fc.array(optional<unknown>({ role: text, projects: texts }), { maxLength: 2 }),
  projects: fc.array(optional<unknown>({ project: text }), { maxLength: 2 }),
  rules,
  allowPosternCli: fc.boolean(),
});
const metadata = optional<unknown>({
  labels: fc.dictionary(fc.constantFrom("team", "uid", "name"), text, { noNullPrototype: true }),
  managedFields: fc.constant([{ manager: "kubectl", fieldsV1: { "f:spec": { ".": {}, "f:user": {} } } }]),
  creationTimestamp: time,
  deletionTimestamp: fc.option(time),
});
const spec = optional<unknown>({
  displayName: text,
  description: text,
  user: text,
  team: text,
  subject: text,
  groups: texts,
  type: text,
  disabled: fc.boolean(),
  ttl: fc.oneof(fc.nat(), fc.maxSafeInteger()),
  ttlAfterLastActivity: fc.boolean(),
  scope,
  rules,
  allowPlatformCli: fc.boolean(),
  identity: optional<unknown>({ userId: text, groups: texts }),
});
const status = optional<unknown>({ lastActivity: time, expirationTimestamp: time });
const kept = fc.record({ id: text, digest: text, ringKey: text, structured: fc.boolean() }, { requiredKeys: ["id"] });
const sealed = optional<unknown>({
  key: kept,
  retired: fc.array(kept, { maxLength: 2 }),
  lockedAt: fc.nat(),
  owner: fc.record({ kind: fc.constantFrom("user", "team", "subject", "pet"), name: text, uid: text }),
  parents: texts,
  defaultTTL: fc.nat(),
  secrets: fc.dictionary(text, text, { maxKeys: 2, noNullPrototype: true }),
});
const key = fc.record({ name: text, uid: text, metadata, spec, status, sealed: fc.option(sealed) });

it("makes the same record of a key as parsing all of it does, whatever it shares with others", () => {
  const read = createStoredAccessKeyReader("/keys/");
  const epoch = createClockEpochs({ now: () => 0, elapsed: () => 0 }).current();
  const names = restrictionNames("postern");
  const readSharing = createAccessKeyReader("/keys/", names, () => undefined);
  const membersOf = (record: AccessKeyRecord): unknown => {
    const getters = Object.entries(Object.getOwnPropertyDescriptors(AccessKeyRecord.prototype));
    const read = getters.flatMap(([member, { get }]) => (get === undefined ? [] : [[member, get.call(record)]]));
    return { ...record, ...Object.fromEntries(read) };
  };
  const recordOf = (stored: StoredAccessKey): unknown =>
    membersOf(new AccessKeyRecord(stored, names, () => undefined, epoch));
  const property = fc.property(key, fc.nat(), (drawn, revision) => {
    const object = {
      apiVersion: "management.postern/v1",
      kind: "OwnedAccessKey",
      metadata: { name: drawn.name, ...drawn.metadata, uid: drawn.uid },
      spec: drawn.spec,
      status: drawn.status,
    } as unknown as KubeObject;
    const value = encodeStoredValue(object, (drawn.sealed ?? undefined) as JsonObject | undefined);
    const cached = CachedObject.fromEntry({ key: `/keys/${drawn.name}`, value, revision });
    const whole = toStoredAccessKey(cached, "/keys/", cached.decode());
    expect(recordOf(read(cached))).toEqual(recordOf(whole));
    expect(membersOf(readSharing(cached, epoch).record)).toEqual(recordOf(whole));
    expect(whole.name).toBe(drawn.name);
  });
  fc.assert(property, { numRuns: 400 });
});
