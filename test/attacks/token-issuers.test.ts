// Issuers that lead elsewhere, take their keys back, and are not there: what is fetched for a trust rule, and what is not.

import { randomUUID } from "node:crypto";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { githubClaims } from "@postern/platform/features/trust/testing/ci-claims";
import {
  type IssuerSigningKey,
  newSigningKey,
  type ServedIssuer,
  serveIssuer,
} from "@postern/platform/foundation/issuers/testing/serve-issuer";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FRONT_THREADS } from "../e2e/testing/postern-process.ts";
import { type Exchanging, startExchanging } from "./testing/exchanging.ts";

let server: Exchanging;
let count = 0;
beforeAll(async () => {
  server = await startExchanging();
});
afterAll(() => server?.[Symbol.asyncDispose]());

const exchange: Exchanging["exchange"] = (...call) => server.exchange(...call);
const rule: Exchanging["rule"] = (...call) => server.rule(...call);

const reachable = async (name: string, path = "clustertrustrules"): Promise<any> => {
  let found: any;
  await expect
    .poll(async () => {
      const { status } = await server.must({ path: `${path}/${name}` });
      found = (status?.conditions ?? []).find(({ type }: any) => type === "IssuerReachable");
      return found?.reason;
    })
    .toMatch(/^(FetchFailed|KeysFetched)$/);
  return found;
};

describe("an issuer that leads elsewhere (security book 20)", () => {
  const cases: readonly (readonly [what: string, document: (issuer: ServedIssuer) => object, why: string])[] = [
    [
      "names another issuer",
      () => ({ issuer: "https://other.test", jwks_uri: "https://other.test/keys" }),
      "is for the issuer https://other.test",
    ],
    ["has its keys at plain HTTP", ({ url }) => ({ issuer: url, jwks_uri: "http://127.0.0.1:1/keys" }), "https://"],
    ["has its keys in a file", ({ url }) => ({ issuer: url, jwks_uri: "file:///etc/passwd" }), "https://"],
    [
      "has its keys in the cloud's metadata",
      ({ url }) => ({ issuer: url, jwks_uri: "https://169.254.169.254/keys" }),
      "address",
    ],
    ["has its keys in a private network", ({ url }) => ({ issuer: url, jwks_uri: "https://10.0.0.1/keys" }), "address"],
    ["has its keys on this machine", ({ url }) => ({ issuer: url, jwks_uri: "https://127.0.0.2/keys" }), "address"],
    ["has its keys on this machine by IPv6", ({ url }) => ({ issuer: url, jwks_uri: "https://[::1]/keys" }), "address"],
    ["names no keys", ({ url }) => ({ issuer: url }), "names no jwks_uri"],
  ];
  for (const [what, document, why] of cases) {
    test(`where its document ${what}`, async () => {
      const bad = await serveIssuer();
      bad.intercept = (_, response) => response.end(JSON.stringify(document(bad)));
      const name = `bad-${++count}`;
      await rule(name, { issuer: server.placeOf(bad) });
      const condition = await reachable(name);
      expect([condition.status, condition.message]).toEqual(["False", expect.stringContaining(why)]);
      expect((await exchange(await bad.sign(githubClaims()), { rule: name })).status).toBe(503);
      await server.must({ method: "DELETE", path: `clustertrustrules/${name}` });
      await bad[Symbol.asyncDispose]();
    });
  }

  test.each([
    ["redirects", (response: any) => response.writeHead(302, { location: "https://127.0.0.1:1/" }).end()],
    ["sends too much", (response: any) => response.end(Buffer.alloc(300_000, 32))],
    ["sends something else", (response: any) => response.end("<html>")],
  ])("where it %s", async (_, answer) => {
    const bad = await serveIssuer();
    bad.intercept = (_request, response) => void answer(response);
    const name = `bad-${++count}`;
    await rule(name, { issuer: server.placeOf(bad) });
    expect((await reachable(name)).status).toBe("False");
    await server.must({ method: "DELETE", path: `clustertrustrules/${name}` });
    await bad[Symbol.asyncDispose]();
  });

  test("where a project names an address of this machine that is not allowed", async () => {
    let connections = 0;
    const door = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => door.listen(0, "127.0.0.3", resolve));
    const { port } = door.address() as { port: number };
    const spec = { issuer: { url: `https://127.0.0.3:${port}` }, scope: undefined };
    for (const path of ["namespaces/p-default/trustrules", "clustertrustrules"]) {
      await rule("door", spec, path);
      const condition = await reachable("door", path);
      expect([condition.status, condition.message]).toEqual(["False", expect.stringContaining("address")]);
    }
    expect(connections).toBe(0);
    await new Promise((resolve) => door.close(resolve));
  });
});

/** Rules of administrators may name issuers in private networks: nothing but what is tested here keeps the server from these addresses. */
describe("an issuer that an administrator is talked into (security book 20, 31)", () => {
  const conditionAt = async (host: string): Promise<any> => {
    const name = `talked-${++count}`;
    await rule(name, { issuer: { url: `https://${host}` } });
    const condition = await reachable(name);
    await server.must({ method: "DELETE", path: `clustertrustrules/${name}` });
    return condition;
  };
  const refused = {
    status: "False",
    message: expect.stringContaining("its address is not allowed"),
  };

  test.each([
    ["an IPv4-compatible address", "[::169.254.169.254]"],
    ["6to4", "[2002:a9fe:a9fe::1]"],
    ["Teredo", "[2001:0:a9fe:a9fe::1]"],
    ["a translator", "[64:ff9b:1::169.254.169.254]"],
    ["a translator with a prefix of 48 bits", "[64:ff9b:1:a9fe:a9:fe00::]"],
    ["6to4 to this machine", "[2002:7f00:1::1]"],
  ])("where the metadata of the cloud or this machine is behind %s", async (_, host) => {
    expect(await conditionAt(host)).toMatchObject(refused);
  });

  const own = Object.values(networkInterfaces()).flatMap((found = []) =>
    found.filter(({ internal, family }) => !internal && family === "IPv4").map(({ address }) => address),
  );
  test.skipIf(own.length === 0)("where it is this machine, by an address that others reach it at", async () => {
    let connections = 0;
    const door = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => door.listen(0, "0.0.0.0", resolve));
    const { port } = door.address() as { port: number };
    for (const address of own) expect(await conditionAt(`${address}:${port}`)).toMatchObject(refused);
    expect(connections).toBe(0);
    await new Promise((resolve) => door.close(resolve));
  });
});

test("keys that the issuer takes back verify nothing, and new ones are found by their kid (security book 20)", async () => {
  const rolling = await serveIssuer();
  const [first] = rolling.keys as [IssuerSigningKey];
  await rule("rolling", { issuer: server.placeOf(rolling) });
  expect((await exchange(await rolling.sign(githubClaims()), { rule: "rolling" })).status).toBe(200);
  const second = await newSigningKey("ES256");
  rolling.keys = [second];
  // Each thread has the keys of an issuer for itself, and asks when it meets a kid that it does not know.
  for (let at = 0; at < (FRONT_THREADS === 1 ? 1 : 8 * FRONT_THREADS); at++)
    expect((await exchange(await rolling.sign(githubClaims()), { rule: "rolling" })).status).toBe(200);
  expect((await exchange(await rolling.sign(githubClaims(), { key: first }), { rule: "rolling" })).status).toBe(400);
  const asked = rolling.requests.length;
  // Kids by chance do not make the issuer be asked again and again.
  for (let at = 0; at < 10; at++) {
    const key = { ...second, kid: randomUUID() };
    expect((await exchange(await rolling.sign(githubClaims(), { key }), { rule: "rolling" })).status).toBe(400);
  }
  expect(rolling.requests.length).toBe(asked);
  await rolling[Symbol.asyncDispose]();
});

test("a project names fifty issuers, however many rules it has (security book 50)", async () => {
  await server.must({ path: "projects", body: { metadata: { name: "fifty" }, spec: {} } });
  const path = "namespaces/p-fifty/trustrules";
  const spec = (at: number) => ({ issuer: { url: `https://127.0.0.1:1/${at}` }, scope: undefined });
  const change = (name: string, at: number) =>
    server.must({
      method: "PATCH",
      path: `${path}/${name}`,
      body: { spec: { issuer: spec(at).issuer } },
      headers: { "content-type": "application/merge-patch+json" },
    });
  const refused = "may name 50 issuers";
  for (let at = 1; at <= 50; at++) await rule(`many-${at}`, spec(at), path);
  await expect(rule("more", spec(51), path)).rejects.toThrow(refused);
  await rule("more", spec(50), path);
  await expect(change("more", 51)).rejects.toThrow(refused);
  await change("more", 1);
  await server.must({ method: "DELETE", path: `${path}/many-2` });
  await change("more", 51);
  await expect(rule("many-2", spec(2), path)).rejects.toThrow(refused);
  await rule("unlimited", spec(52));
});
