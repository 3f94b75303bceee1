// Somebody guesses the values of other people's keys by what the server says of texts, and chooses values that others have.

import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { APPLY, type Attack, type AttackedServer, attackerOf, MERGE, startAttacked } from "./testing/attacking.ts";

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
    test(`${where} tells nothing of other people's keys, in a dry run neither (security book 5, 42)`, async () => {
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

  test("one's own key stands nowhere but in spec.key (security book 40)", async () => {
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
  test("two users have one value: the second is told what a weak value is told (security book 5, 42)", async () => {
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

  test("many who choose one value at once come in as nobody but themselves (security book 18, 24)", async () => {
    await Promise.all(Array.from({ length: 8 }, (_, at) => server.user(`twin-${at}`)));
    for (let round = 0; round < 5; round++) {
      const key = chosen();
      const made = await Promise.all(
        Array.from({ length: 8 }, (_, at) =>
          server.send({ path: "/apis/storage.postern/v1/accesskeys", body: { spec: { user: `twin-${at}`, key } } }),
        ),
      );
      const winners = made.filter(({ status }) => status === 201).map(({ body }) => body.spec.user);
      const { status, body } = await server.send({ path: "selves", as: key, body: {} });
      if (winners.length > 1) expect(status).toBe(401);
      else expect([status, body.status.user.name]).toEqual([201, winners[0]]);
    }
  });

  test("guesses are slowed down (security book 26)", async () => {
    const attempts = await Promise.all(
      Array.from({ length: 150 }, () =>
        server.send({ path: "ownedaccesskeys?dryRun=All", as: eve, body: { spec: { key: chosen() } } }),
      ),
    );
    const refused = attempts.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(20);
    // Nobody else waits for it.
    const admin = await attackerOf(server.process);
    expect((await admin.send({ path: "ownedaccesskeys?dryRun=All", body: { spec: { key: chosen() } } })).status).toBe(
      201,
    );
  });
});
