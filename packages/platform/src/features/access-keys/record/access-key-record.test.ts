import { restrictionNames } from "@postern/api/access-key-restrictions";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import type { CacheEvent } from "@postern/apiserver/cache/watch-cache";
import { expect, it } from "vitest";
import { createAccessKeyServer } from "../testing/access-key-server.ts";
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

it("makes the same record of a written key from its content as from its bytes", async () => {
  await using server = await createAccessKeyServer();
  const { prefix, view } = {
    prefix: server.ownedAccessKeyResource.keys.prefix,
    view: server.ownedAccessKeyResource.view,
  };
  const told: CacheEvent[] = [];
  using _ = view.subscribe(prefix, view.revision, { events: (events) => told.push(...events), error() {} });
  await Promise.resolve();
  const admin = { user: { name: "admin", groups: ["system:masters"] } };
  const specs = [
    {},
    { subject: "jane", ttl: 60, ttlAfterLastActivity: true, disabled: true, type: "Other", groups: ["g"] },
    { key: "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MDEyMzQ1Njc4OTA", scope: { projects: [{ project: "p" }], rules: [] } },
    {
      rules: [{ verbs: ["get"], resources: [{ group: "", resources: ["pods"] }] }],
      identity: { connectorData: "YQ==" },
    },
  ];
  for (const [at, spec] of specs.entries()) {
    const { status } = await server.send({
      method: "POST",
      url: "ownedaccesskeys",
      body: JSON.stringify({ metadata: { name: `k${at}` }, spec }),
      as: admin,
    });
    expect(status).toBe(201);
    const changed = await server.send({
      method: "PATCH",
      url: `ownedaccesskeys/k${at}`,
      headers: { "content-type": "application/merge-patch+json" },
      body: JSON.stringify({ spec: { displayName: "changed", disabled: at % 2 === 0 } }),
      as: admin,
    });
    expect(changed.status).toBe(200);
  }
  expect(told).toHaveLength(2 * specs.length);
  const reader = () => createAccessKeyReader(prefix, restrictionNames("postern"), () => undefined);
  const [readContent, readBytes] = [reader(), reader()];
  for (const event of told) {
    if (event.type !== "put") throw new Error("expected a write");
    expect(event.content).toBeDefined();
    expect(membersOf(readContent(event.object, 1, undefined, event.content))).toEqual(
      membersOf(readBytes(event.object, 1)),
    );
  }
});

/** Whatever a record tells. */
function membersOf({ record, retired }: ReadAccessKey): unknown {
  const getters = Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(record)));
  const told = getters.flatMap(([name, { get }]) => (get === undefined ? [] : [[name, get.call(record)]]));
  return { ...record, ...Object.fromEntries(told), retired };
}
