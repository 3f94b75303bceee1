import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { describe, expect, it } from "vitest";
import { readSealedAccessKey } from "../../features/access-keys/record/sealed-access-key.ts";
import { encodeCertificate } from "../../features/certificates/issued-certificate.ts";
import { recordPrefixOf } from "../../foundation/store/record-kinds.ts";
import { type KnownKey, rightsDigest } from "../valid-keys.ts";
import { createEntryRestorer, type KeyPolicy } from "./restore-entry.ts";

const PREFIXES = { accessKeys: "/keys/", certificates: "/certificates/" };
const SPEC = { displayName: "CI", user: "dev", scope: { projects: [{ project: "a" }] } };
const END = "2026-01-01T00:00:00Z";
const GOOD: KnownKey = { uid: "u1", value: "v1", inForce: true, retired: [], rights: rightsDigest({ spec: SPEC }) };

const entryOf = (spec: JsonObject = SPEC, metadata: JsonObject = {}) => ({
  key: "/keys/ci",
  value: encodeStoredValue(
    {
      apiVersion: "management.example.com/v1",
      kind: "OwnedAccessKey",
      metadata: { ...metadata, name: "ci", uid: "u1" },
      spec,
    },
    {
      key: { id: "v1", digest: "d", structured: true },
      retired: ["r1", "r2"].map((id) => ({ id, digest: "d", structured: true, until: 9e15, nonce: "n" })),
    },
  ),
});

function restored(policy: KeyPolicy, spec?: JsonObject, metadata?: JsonObject) {
  const { key, entry } = createEntryRestorer(policy, PREFIXES)(entryOf(spec, metadata));
  if (entry === undefined) return { key };
  const object = CachedObject.fromEntry({ ...entry, revision: 1 });
  const { retired } = readSealedAccessKey(object.decodeSealed());
  return { key, spec: object.decode()["spec"], retired: retired.map(({ id }) => id) };
}

const inForce = (...keys: readonly KnownKey[]): KeyPolicy => ({
  type: "in-force",
  list: { takenAt: 0, keys, certificates: ["AB"], grants: ["granted"] },
});

describe("the record of an access key", () => {
  it.each<[string, KeyPolicy, object]>([
    ["stays as it was on demand", { type: "keep" }, { key: "kept", spec: SPEC, retired: ["r1", "r2"] }],
    ["stays where the list has it as it was", inForce(GOOD), { key: "kept", spec: SPEC, retired: [] }],
    [
      "keeps the replaced values that are accepted still",
      inForce({ ...GOOD, retired: ["r2"] }),
      { key: "kept", spec: SPEC, retired: ["r2"] },
    ],
    ["is left out where the key was deleted", inForce(), { key: "left out" }],
    [
      "is left out where it has another value since",
      inForce({ ...GOOD, value: "v2", retired: ["v1"] }),
      { key: "left out" },
    ],
    [
      "is disabled where the key is refused now",
      inForce({ ...GOOD, inForce: false }),
      { key: "disabled", spec: { ...SPEC, disabled: true }, retired: [] },
    ],
    [
      "is disabled where the key opens something else since",
      inForce({ ...GOOD, rights: rightsDigest({ spec: { user: "dev" } }) }),
      { key: "disabled", spec: { ...SPEC, disabled: true }, retired: [] },
    ],
    [
      "is disabled where the key was deleted with a grace period since",
      inForce({ ...GOOD, rights: rightsDigest({ metadata: { deletionTimestamp: END }, spec: SPEC }) }),
      { key: "disabled", spec: { ...SPEC, disabled: true }, retired: [] },
    ],
    ["is disabled on demand", { type: "disable" }, { key: "disabled", spec: { ...SPEC, disabled: true }, retired: [] }],
  ])("%s", (_, policy, expected) => {
    expect(restored(policy)).toEqual(expected);
  });

  it("stays disabled as in the backup, and another display name does not matter", () => {
    const spec = { ...SPEC, displayName: "another", disabled: true };
    expect(restored(inForce(GOOD), spec)).toEqual({ key: "kept", spec, retired: [] });
  });

  it("stays where its deletion was in the backup already", () => {
    const metadata = { deletionTimestamp: END };
    const list = inForce({ ...GOOD, rights: rightsDigest({ metadata, spec: SPEC }) });
    expect(restored(list, SPEC, metadata).key).toBe("kept");
    expect(restored(inForce(GOOD), SPEC, metadata).key).toBe("disabled");
  });
});

describe("the record of a certificate", () => {
  const entryOfSerial = (serial: string) => ({
    key: `/certificates/${serial.toLowerCase()}`,
    value: encodeCertificate({
      serial,
      commonName: "dev",
      organizations: [],
      issuedAt: 0,
      notAfter: 0,
      instanceUid: "i",
    }),
  });

  it("stays where the list has its serial, or on demand", () => {
    const restore = createEntryRestorer(inForce(), PREFIXES);
    expect(restore(entryOfSerial("AB")).entry).toEqual(entryOfSerial("AB"));
    expect(restore(entryOfSerial("CD")).entry).toBeUndefined();
    expect(createEntryRestorer({ type: "keep" }, PREFIXES)(entryOfSerial("CD")).entry).toBeDefined();
    expect(createEntryRestorer({ type: "disable" }, PREFIXES)(entryOfSerial("AB")).entry).toBeUndefined();
  });
});

describe("an approved access request", () => {
  const entryOfRequest = (uid: string, phase: string, resource = "accessrequests") => ({
    key: `/${resource}/x`,
    value: encodeStoredValue({
      apiVersion: "management.example.com/v1",
      kind: "AccessRequest",
      metadata: { name: "x", uid },
      spec: { policy: { name: "p" }, target: { project: "a" }, durationSeconds: 600 },
      status: { phase },
    } as never),
  });

  it.each<[string, KeyPolicy, string, string, boolean]>([
    ["stays where the list has its uid", inForce(), "granted", "Approved", true],
    ["goes where its access was revoked", inForce(), "revoked", "Approved", false],
    ["goes where all keys are disabled", { type: "disable" }, "granted", "Approved", false],
    ["stays on demand", { type: "keep" }, "revoked", "Approved", true],
    ["that is pending stays", inForce(), "pending", "Pending", true],
    ["that has ended stays", inForce(), "ended", "Revoked", true],
  ])("%s", (_, policy, uid, phase, stays) => {
    const { entry } = createEntryRestorer(policy, PREFIXES)(entryOfRequest(uid, phase));
    expect(entry !== undefined).toBe(stays);
  });

  it("of another resource is not looked at", () => {
    const { entry } = createEntryRestorer(inForce(), PREFIXES)(entryOfRequest("revoked", "Approved", "others"));
    expect(entry).toBeDefined();
  });
});

describe("a value with which a cluster joins", () => {
  const record = (content: object) => ({
    key: `${recordPrefixOf("management", "cluster-joins")}u`,
    value: encodeStoredValue({ apiVersion: "v1", kind: "ClusterJoin", metadata: { name: "u" }, ...content } as never),
  });

  it("goes where it is unused in the backup, and one that was used stays so", () => {
    const restore = createEntryRestorer(inForce(), PREFIXES);
    expect(restore(record({ hash: "h", until: 1 }))).toEqual({ entry: undefined, leftOut: "oneTimeValues" });
    expect(restore(record({ digest: "h", until: 1, used: { at: 0, peerUid: "p" } })).entry).toBeDefined();
    expect(createEntryRestorer({ type: "keep" }, PREFIXES)(record({ hash: "h", until: 1 })).entry).toBeDefined();
  });
});
