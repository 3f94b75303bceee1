// A client guesses the values of other people's keys by the server's answers about texts, and chooses values that others have.

import { randomBytes } from "node:crypto";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createAccessKeyFormat } from "@postern/platform/features/access-keys/secrets/access-key-format";
import { startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { byNight } from "../../tools/test-cost/by-night.ts";
import { startPostern, temporaryDirectory } from "../e2e/testing/postern-process.ts";
import {
  type Answered,
  APPLY,
  type Attack,
  type AttackedServer,
  attackerOf,
  JSON_PATCH,
  MERGE,
  startAttacked,
} from "./testing/attacking.ts";

const chosen = (): string => randomBytes(32).toString("base64url");
const own = { apiVersion: "management.postern/v1", kind: "OwnedAccessKey" };

let server: AttackedServer;
let eve: string;
let janes: string;
beforeAll(async () => {
  server = await startAttacked();
  await server.user("jane");
  eve = await server.user("eve");
  janes = chosen();
  await server.key("janes-own", { user: "jane", key: janes });
  await server.key("eves", { user: "eve" });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Something else is wrong as well: the answer says what, and repeats no text. */
const WRONG = { scope: { roles: [{ role: "none-of-that-name" }] } };

const TEXTS: readonly [where: string, attack: (guess: string) => Attack][] = [
  ["a description", (guess) => ({ path: "ownedaccesskeys", body: { spec: { ...WRONG, description: guess } } })],
  [
    "an annotation",
    (guess) => ({ path: "ownedaccesskeys", body: { metadata: { annotations: { a: guess } }, spec: WRONG } }),
  ],
  ["a sentence", (guess) => ({ path: "ownedaccesskeys", body: { spec: { ...WRONG, displayName: `key=${guess}.` } } })],
  [
    "a patch",
    (guess) => ({
      method: "PATCH",
      path: "ownedaccesskeys/eves",
      headers: MERGE,
      body: { spec: { ...WRONG, description: guess } },
    }),
  ],
  [
    "an apply",
    (guess) => ({
      method: "PATCH",
      path: "ownedaccesskeys/eves?fieldManager=x",
      headers: APPLY,
      body: { ...own, metadata: { name: "eves" }, spec: { ...WRONG, description: guess } },
    }),
  ],
  [
    "JSON in an annotation",
    (guess) => ({
      path: "ownedaccesskeys",
      body: { metadata: { annotations: { a: JSON.stringify({ guess }) } }, spec: WRONG },
    }),
  ],
];

describe("texts", () => {
  for (const [where, attack] of TEXTS) {
    test(`${where} reveals nothing about other users' keys, in dry runs neither (security book 5, 42)`, async () => {
      for (const query of ["", "dryRun=All"]) {
        const ask = async (guess: string) => {
          const { path, ...rest } = attack(guess);
          const { status, body } = await server.send({
            ...rest,
            path: `${path}${path.includes("?") ? "&" : "?"}${query}`,
            as: eve,
          });
          return [status, body.details.causes];
        };
        const hit = await ask(janes);
        expect(hit[0]).toBe(422);
        expect(hit).toEqual(await ask(chosen()));
      }
    });
  }

  test("a user's own key is only in spec.key (security book 40)", async () => {
    const value = chosen();
    const key = await server.key("eves-chosen", { key: value }, eve);
    for (const as of [eve, key]) {
      const { status, text } = await server.send({
        path: "ownedaccesskeys",
        as,
        body: { spec: { description: value } },
      });
      expect([status, text.includes(value)]).toEqual([422, false]);
    }
  });
});

describe("values", () => {
  test("a value that another user has is refused like a weak one (security book 5, 42)", async () => {
    const set = (key: string) => server.send({ path: "ownedaccesskeys", as: eve, body: { spec: { key } } });
    const [taken, weak] = [await set(janes), await set("ab".repeat(32))];
    expect(taken.status).toBe(422);
    expect(taken.body.details.causes).toEqual(weak.body.details.causes);
    for (const query of ["", "?dryRun=All"]) {
      const patch = {
        method: "PATCH",
        path: `ownedaccesskeys/eves${query}`,
        headers: MERGE,
        body: { spec: { key: janes } },
      };
      expect((await server.send({ ...patch, as: eve })).status).toBe(422);
    }
    expect((await server.must({ path: "selves", as: janes, body: {} })).status.user.name).toBe("jane");
  });

  test("one of many concurrent requests gets a chosen value, and the others the usual refusal (security book 18, 24)", async () => {
    await Promise.all(Array.from({ length: 8 }, (_, at) => server.user(`twin-${at}`)));
    for (let round = 0; round < 5; round++) expect(await race(chosen(), [server])).toBe(1);
  });

  test("the value of a deleted key only ever authenticates its owner (security book 11)", async () => {
    const value = chosen();
    await server.key("of-jane-once", { user: "jane", key: value });
    await server.must({ method: "DELETE", path: "ownedaccesskeys/of-jane-once" });
    const set = (as: string, spec: object) =>
      server.send({
        path: "ownedaccesskeys",
        as,
        body: { metadata: { name: "again" }, spec: { ...spec, key: value } },
      });
    const weak = await set(eve, {});
    expect([weak.status, weak.body.details.causes]).toEqual([
      422,
      (await server.send({ path: "ownedaccesskeys", as: eve, body: { spec: { key: "ab".repeat(32) } } })).body.details
        .causes,
    ]);
    const patch = { method: "PATCH", path: "ownedaccesskeys/eves", headers: MERGE, body: { spec: { key: value } } };
    for (const query of ["", "?dryRun=All"]) {
      expect((await server.send({ ...patch, path: patch.path + query, as: eve })).status).toBe(422);
    }
    // A manifest that is applied again.
    expect((await set(server.admin, { user: "jane" })).status).toBe(201);
    expect((await server.must({ path: "selves", as: value, body: {} })).status.user.name).toBe("jane");
  });

  test("a generated value is never used again (security book 11)", async () => {
    const value = await server.key("made", { user: "jane" });
    await server.must({ method: "DELETE", path: "ownedaccesskeys/made" });
    const { status, body } = await server.send({ path: "ownedaccesskeys", as: eve, body: { spec: { key: value } } });
    expect([status, body.details.causes[0].field]).toEqual([422, "spec.key"]);
    expect(await server.isAccepted(value)).toBe(false);
  });

  test("a request that fails, or is a dry run, takes no value (security book 53)", async () => {
    const value = chosen();
    const body = { metadata: { name: "eves" }, spec: { key: value } };
    expect((await server.send({ path: "ownedaccesskeys", as: eve, body })).status).toBe(409);
    const dry = { metadata: { name: "dry" }, spec: { key: value } };
    expect((await server.send({ path: "ownedaccesskeys?dryRun=All", as: eve, body: dry })).status).toBe(201);
    await server.key("of-jane-then", { user: "jane", key: value });
    expect((await server.must({ path: "selves", as: value, body: {} })).status.user.name).toBe("jane");
  });
});

let addresses = 1;
/** An address of this machine that has sent no request yet. */
const addressOf = (): string => `127.0.0.${++addresses}`;

/** Of more handshakes at once from a new address, the slow ones are ended. */
const AT_ONCE = 15;

/** Guesses until one is refused for their number; before, no more are answered than the rate allows. */
async function untilRefused(
  { burst, perSecond }: { readonly burst: number; readonly perSecond: number },
  guess: (at: number) => Promise<Answered>,
): Promise<void> {
  const startedAt = performance.now();
  for (let answered = 0; ; ) {
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => guess(answered + at)));
    const refused = answers.filter(({ status }) => status === 429).length;
    answered += answers.length - refused;
    expect(answered).toBeLessThanOrEqual(burst + (perSecond * (performance.now() - startedAt)) / 1000 + AT_ONCE);
    if (refused > 0) return;
  }
}

describe("guesses are slowed down (security book 25, 26)", () => {
  const patchOf = (name: string, spec: object): Attack => ({
    method: "PATCH",
    path: `ownedaccesskeys/${name}?dryRun=All&fieldManager=x`,
    body: spec,
  });
  test.each<[how: string, attack: (name: string) => Attack]>([
    ["creates", () => ({ path: "ownedaccesskeys?dryRun=All", body: { spec: { key: chosen() } } })],
    ["merge patches", (name) => ({ ...patchOf(name, { spec: { key: chosen() } }), headers: MERGE })],
    [
      "JSON patches",
      (name) => ({
        ...patchOf(name, [{ op: "add", path: "/spec/key", value: chosen() }]),
        headers: JSON_PATCH,
      }),
    ],
    [
      "applies",
      (name) => ({ ...patchOf(name, { ...own, metadata: { name }, spec: { key: chosen() } }), headers: APPLY }),
    ],
    [
      "updates",
      (name) => ({
        method: "PUT",
        path: `ownedaccesskeys/${name}?dryRun=All`,
        body: { ...own, metadata: { name }, spec: { key: chosen() } },
      }),
    ],
  ])("of %s", async (how, attack) => {
    const name = how.toLowerCase().replaceAll(" ", "-");
    const as = await server.user(name);
    const from = addressOf();
    const guess = (key: string) => () => server.send({ ...attack(`${name}-key`), as: key, from });
    await untilRefused({ burst: 100, perSecond: 1 }, guess(as));
    // Another key of hers is no way around.
    const second = await server.key(`${name}-second`, { user: name });
    await untilRefused({ burst: 0, perSecond: 1 }, guess(second));
    // No other client waits for it.
    const admin = await attackerOf(server.process);
    expect((await admin.send({ path: "ownedaccesskeys?dryRun=All", body: { spec: { key: chosen() } } })).status).toBe(
      201,
    );
  });

  test("of texts that are searched for the caller's own keys", async () => {
    const as = await server.user("writer");
    await server.key("writers-chosen", { key: chosen() }, as);
    const text = Array.from({ length: 3_000 }, () => chosen()).join(" ");
    const write = (): Promise<Answered> =>
      server.send({
        path: "ownedaccesskeys?dryRun=All",
        as,
        body: { metadata: { annotations: { a: text } }, spec: WRONG },
      });
    // Each is worth 3,000 guesses.
    await untilRefused({ burst: 7, perSecond: 0.02 }, write);
    // A user without a key whose value could be there has nothing to guess, and is not slowed down.
    const reader = await server.user("reader");
    const free = { path: "ownedaccesskeys?dryRun=All", as: reader, body: { metadata: { annotations: { a: text } } } };
    for (let at = 0; at < 9; at++) expect((await server.send(free)).status).toBe(201);
  });

  test("of reviews of values, while known values are answered all the time", async () => {
    const as = await server.user("asker");
    await server.grant("askers", "asker", [
      { verbs: ["create"], apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"] },
      { verbs: ["introspect", "create"], apiGroups: ["management.postern"], resources: ["selves"] },
    ]);
    const review = (token: string): Promise<Answered> =>
      server.send({ path: "/apis/authentication.k8s.io/v1/tokenreviews", as, body: { spec: { token } } });
    const introspect = (accessKey: string): Promise<Answered> =>
      server.send({ path: "selves", as, body: { spec: { accessKey } } });
    expect((await review(janes)).body.status.authenticated).toBe(true);
    await untilRefused({ burst: 300, perSecond: 10 }, (at) => (at % 2 === 0 ? review(chosen()) : introspect(chosen())));
    expect((await review(janes)).body.status.authenticated).toBe(true);
    // About the key that the request came with one may always ask.
    expect((await introspect(as)).status).toBe(201);
  });

  test("of reports, by their values", async () => {
    const format = createAccessKeyFormat("postern");
    const report = (count: number): Promise<Answered> =>
      server.send({
        path: "/leaks",
        as: "",
        headers: { "content-type": "text/plain" },
        body: Array.from({ length: count }, () => format.generate(systemRuntime.random).value).join("\n"),
      });
    await untilRefused({ burst: 10, perSecond: 1 }, () => report(100));
    // One report is, and none of a hundred values.
    await vi.waitFor(async () => expect((await report(1)).status).toBe(202));
    const { body } = await report(100);
    expect([body.code, body.details.retryAfterSeconds]).toEqual([429, expect.any(Number)]);
  });
});

/** Everybody sets the value at once; resolves with how many got it, which is who comes in with it. */
async function race(key: string, servers: readonly Pick<AttackedServer, "send">[]): Promise<number> {
  const made = await Promise.all(
    Array.from({ length: 8 }, (_, at) =>
      (servers[at % servers.length] as AttackedServer).send({
        path: "/apis/storage.postern/v1/accesskeys",
        body: { spec: { user: `twin-${at}`, key } },
      }),
    ),
  );
  const winners = made.filter(({ status }) => status === 201).map(({ body }) => body.spec.user);
  const causes = new Set(
    made.filter(({ status }) => status !== 201).map(({ body }) => JSON.stringify(body.details.causes)),
  );
  expect([...new Set(made.map(({ status }) => status))].sort()).toEqual([201, 422]);
  expect(causes.size).toBe(1);
  for (const { send } of servers) {
    await vi.waitFor(async () => {
      const { status, body } = await send({ path: "selves", as: key, body: {} });
      expect([status, body.status?.user?.name]).toEqual([201, winners[0]]);
    });
  }
  return winners.length;
}

describe.skipIf(whyNoEtcd() !== undefined)("two servers on one etcd", () => {
  byNight("one of the concurrent requests for a value gets it, on both servers (security book 18, 24)", async () => {
    await using directory = await temporaryDirectory();
    await using etcd = await startEtcd();
    const flags = ["--store", `etcd://${etcd.endpoints.join(",")}`];
    const [one, other] = [join(directory.path, "one"), join(directory.path, "other")];
    await using first = await startPostern(one, flags);
    await mkdir(other, { mode: 0o700 });
    for (const file of ["server.key", "ca.crt", "ca.key", "admin.kubeconfig"])
      await copyFile(join(one, file), join(other, file));
    await using second = await startPostern(other, flags);
    const servers = [await attackerOf(first), await attackerOf(second)];
    const [near, far] = servers as [(typeof servers)[0], (typeof servers)[0]];
    await Promise.all(Array.from({ length: 8 }, (_, at) => near.user(`twin-${at}`)));
    await vi.waitFor(async () => expect((await far.send({ path: "users/twin-7" })).status).toBe(200));
    const rounds = Number(process.env["ATTACK_ROUNDS"] ?? 5);
    let winners = 0;
    for (let round = 0; round < rounds; round++) winners += await race(chosen(), servers as never);
    expect(winners).toBe(rounds);

    // A value that was deleted on one is taken on the other at once.
    const value = chosen();
    await near.key("gone", { user: "twin-0", key: value });
    await near.must({ method: "DELETE", path: "ownedaccesskeys/gone" });
    const { status } = await far.send({ path: "ownedaccesskeys", body: { spec: { user: "twin-1", key: value } } });
    expect(status).toBe(422);
    process.stdout.write(`${rounds} races of 8 clients at 2 servers: ${winners} winners\n`);
  });
});
