// Records of values that clients chose: of keys from before there were claims, of those that go, and of those that leaked.

import { CachedObject } from "@postern/apiserver/cache/cached-object";
import { afterEach, beforeEach, expect, it } from "vitest";
import { decodeClaim, encodeClaim, PENDING_MS, type ValueClaim } from "../chosen-values/unique-values.ts";
import { type AccessKeyServer, createAccessKeyServer } from "../testing/access-key-server.ts";
import { createValueClaimController } from "./unique-values.ts";

const admin = { name: "root", groups: ["system:masters", "system:authenticated"] };
const PREFIX = "/registry/management/internal/key-values/";
const DAY = 86_400_000;

let server: AccessKeyServer;
let keeper: ReturnType<typeof createValueClaimController>;
const errors: unknown[] = [];
beforeEach(async () => {
  server = await createAccessKeyServer();
  await server.send({ method: "POST", url: "users", user: admin, body: { metadata: { name: "jane" }, spec: {} } });
  keeper = createValueClaimController({
    port: { runtime: server.runtime, onError: (error: unknown) => errors.push(error) },
    keys: server.keys,
    claims: { view: server.cache.view(PREFIX), prefix: PREFIX },
    storage: server.storage,
    rememberMs: 30 * DAY,
  });
  await keeper.idle();
});
afterEach(async () => {
  keeper[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
  expect(errors).toEqual([]);
});

const sweep = async (): Promise<readonly ValueClaim[]> => {
  // One adopts and one ends: what the one writes the other sees in its next round.
  for (let round = 0; round < 2; round++) {
    server.time.advance(60_000);
    await keeper.idle();
    await server.cache.refresh();
  }
  return (await server.storage.list(PREFIX)).entries.map(decodeClaim);
};
const make = (name: string, spec: object) =>
  server.send({ method: "POST", url: "ownedaccesskeys", user: admin, body: { metadata: { name }, spec } });
const chosen = (): string => `${server.secrets.generate()}-mine`;

it("claims values of keys without a claim, and releases those of deleted keys after their time", async () => {
  await make("janes", { user: "jane", key: chosen() });
  await make("made", { user: "jane" });
  const { uid } = server.keys.byName("janes") ?? {};
  expect(await sweep()).toMatchObject([
    { name: "janes", uid, isKept: true, isLeaked: false, releasedAt: undefined, owner: { kind: "user", name: "jane" } },
  ]);
  await server.send({ method: "DELETE", url: "ownedaccesskeys/janes", user: admin });
  const [claim] = await sweep();
  expect(claim?.releasedAt).toBeGreaterThan(0);
  server.time.advance(29 * DAY);
  expect(await sweep()).toHaveLength(1);
  server.time.advance(DAY);
  expect(await sweep()).toEqual([]);
});

it("gives up what a server claimed that died before the key was written, and keeps what it wrote", async () => {
  const value = chosen();
  await make("janes", { user: "jane", key: value });
  const { uid = "" } = server.keys.byName("janes") ?? {};
  const [digest] = server.secrets.digestsOf(value);
  const pending = { owner: undefined, claimedAt: server.time.clock.now(), isKept: false, isLeaked: false };
  const claim = (of: string) => encodeClaim({ ...pending, name: "janes", uid: of, releasedAt: undefined });
  await server.storage.create(PREFIX + Buffer.from(digest ?? []).toString("base64url"), claim(uid));
  await server.storage.create(`${PREFIX}of-nobody`, claim("gone"));
  await server.cache.refresh();
  server.time.advance(PENDING_MS);
  expect(await sweep()).toMatchObject([{ uid, isKept: true }]);
});

it("remembers that a value leaked, so that not even its owner sets it again", async () => {
  await make("janes", { user: "jane", key: chosen() });
  await server.send({
    method: "POST",
    url: "ownedaccesskeys/janes/rotate",
    user: admin,
    body: { spec: { nonce: "1", compromised: true } },
  });
  expect(await sweep()).toMatchObject([{ name: "janes", isLeaked: true, isKept: true }]);
  expect(CachedObject.fromEntry((await server.storage.list(PREFIX)).entries[0] as never).decode()["kind"]).toBe(
    "AccessKeyValue",
  );
});
