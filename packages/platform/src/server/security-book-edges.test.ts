// Entries of the security book about the edges of authentication, replayed over the whole server.

import { connect } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type RunningPlatform, startPlatform } from "../testing/running-platform.ts";
import { temporaryDirectory } from "../testing/temporary-directory.ts";
import { FRONT_THREADS } from "../testing/threads-of-tests.ts";

describe("invalid credentials (security book 19)", () => {
  let platform: RunningPlatform;
  beforeAll(async () => {
    platform = await startPlatform();
  });
  afterAll(() => platform[Symbol.asyncDispose]());

  /** As it stands on the wire: clients would refuse to send some of it. */
  const answerTo = (...lines: readonly string[]): Promise<string> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(platform.server.url);
      const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, () => {
        const request = ["GET /apis/management.postern/v1/projects HTTP/1.1", "Host: h", "Connection: close", ...lines];
        socket.write(`${request.join("\r\n")}\r\n\r\n`);
      });
      let text = "";
      socket.setEncoding("latin1");
      socket.on("data", (chunk) => {
        text += chunk;
      });
      socket.on("error", (error) => (text === "" ? reject(error) : resolve(text)));
      socket.on("close", () => resolve(text));
    });
  const statusOf = (answer: string): number => Number(answer.slice(9, 12));
  const bodyOf = (answer: string): string => answer.slice(answer.indexOf("\r\n\r\n"));

  it.each<[what: string, lines: (key: string) => readonly string[]]>([
    ["one letter", () => ["Authorization: Bearer x"]],
    ["a lower-case scheme", () => ["Authorization: bearer x"]],
    [
      "a key with one letter wrong",
      (key) => [`Authorization: Bearer ${key.slice(0, -1)}${key.endsWith("a") ? "b" : "a"}`],
    ],
    ["a key with more behind it", (key) => [`Authorization: Bearer ${key}x`]],
    ["two keys in one header", (key) => [`Authorization: Bearer ${key},Bearer ${key}`]],
    ["two headers, of which the first is good", (key) => [`Authorization: Bearer ${key}`, "Authorization: Bearer x"]],
    ["two headers, of which the second is good", (key) => ["Authorization: Bearer x", `Authorization: Bearer ${key}`]],
  ])("is answered 401: %s", async (_what, lines) => {
    const answer = await answerTo(...lines(platform.adminKey));
    expect(statusOf(answer)).toBe(401);
    expect(JSON.parse(bodyOf(answer))).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: expect.stringMatching(/^(platform access key not found. Please login again|Unauthorized)$/),
      reason: "Unauthorized",
      code: 401,
    });
  });

  it.each<[what: string, line: (key: string) => string]>([
    ["an empty header", () => "Authorization:"],
    ["a space", () => "Authorization:  "],
    ["the scheme alone", () => "Authorization: Bearer"],
    ["the scheme and a space", () => "Authorization: Bearer "],
    ["another scheme", () => "Authorization: Basic amFuZTpqYW5l"],
    ["a key as a password", (key) => `Authorization: Basic ${Buffer.from(`admin:${key}`).toString("base64")}`],
    ["a key without a scheme", (key) => `Authorization: ${key}`],
    ["a key behind two spaces", (key) => `Authorization: Bearer  ${key}`],
    ["a key in another header", (key) => `X-Authorization: Bearer ${key}`],
  ])("is anonymous, as without any: %s", async (_what, line) => {
    const [answer, anonymous] = await Promise.all([answerTo(line(platform.adminKey)), answerTo()]);
    expect([statusOf(answer), bodyOf(answer)]).toEqual([403, bodyOf(anonymous)]);
  });

  it("is not read where it is no header, or too long", async () => {
    expect(statusOf(await answerTo(`Authorization: Bearer ${platform.adminKey}\0`))).toBe(400);
    expect(statusOf(await answerTo(`Authorization: Bearer ${"x".repeat(1 << 20)}`))).toBe(431);
    expect(statusOf(await answerTo(`Authorization: Bearer ${platform.adminKey}`))).toBe(200);
  });
});

describe("revoked credentials (security book 16)", () => {
  const DEMO = "namespaces/p-default/virtualclusterinstances/demo";
  const INSIDE = "/kubernetes/project/default/virtualcluster/demo/api/v1/namespaces";

  it("stays so when the server starts again", async () => {
    await using directory = await temporaryDirectory();
    const flags = { store: "sqlite", "data-dir": directory.path };
    const ended: { [how: string]: string } = {};
    let certificate = { cert: "", key: "" };
    let kept = "";
    {
      await using platform = await startPlatform(flags);
      const create = async (name: string, spec: object = {}): Promise<string> => {
        const body = { metadata: { name }, spec: { user: "admin", ...spec } };
        return (await platform.send({ method: "POST", path: "ownedaccesskeys", body })).body.spec.key;
      };
      const patch = (path: string, spec: object) => platform.send({ method: "PATCH", path, body: { spec } });
      kept = await create("kept");
      for (const how of ["disabled", "deleted", "rotated", "narrowed", "locked", "revoked"])
        ended[how] = await create(how);
      await platform.send({ method: "POST", path: "users", body: { metadata: { name: "jane" }, spec: {} } });
      ended["locked"] = await create("janes", { user: "jane" });
      const asked = await platform.send({
        method: "POST",
        path: `${DEMO}/kubeconfig`,
        body: { spec: { clientCert: true } },
      });
      const { user } = parse(asked.body.status.kubeConfig).users[0];
      const decoded = (member: string): string => Buffer.from(user[member], "base64").toString();
      certificate = { cert: decoded("client-certificate-data"), key: decoded("client-key-data") };
      expect((await platform.send({ path: INSIDE, certificate })).status).toBe(200);

      await patch("ownedaccesskeys/disabled", { disabled: true });
      await platform.send({ method: "DELETE", path: "ownedaccesskeys/deleted" });
      await patch("ownedaccesskeys/rotated", { key: "a-value-of-at-least-32-characters-of-mine" });
      await patch("ownedaccesskeys/narrowed", { scope: {} });
      await patch("users/jane", { disabled: true });
      const below = await platform.send({ path: `${DEMO}/credentials` });
      const ids = below.body.status.credentials.map(({ id }: any) => id);
      await platform.send({ method: "POST", path: `${DEMO}/credentials`, body: { spec: { revoke: ids } } });
      const revoke = { spec: { revoke: [ended["revoked"]?.split("_")[1]] } };
      await platform.send({ method: "POST", path: "ownedaccesskeys/revoked/credentials", body: revoke });
    }
    await using platform = await startPlatform(flags);
    const statusOf = async (key: string | undefined) => (await platform.send({ path: "/api/v1/secrets", key })).status;
    expect(await statusOf(kept)).toBe(200);
    expect((await platform.send({ path: INSIDE, certificate })).status).toBe(401);
    for (const [how, key] of Object.entries(ended)) {
      expect([how, await statusOf(key)]).toEqual([how, how === "narrowed" ? 403 : 401]);
    }
  });
});

describe("guessing (security book 26)", () => {
  const flags = { "failed-logins-per-minute": "1" };

  it("is delayed from the first burst after a start on, whatever address a header claims, without affecting others", async () => {
    await using directory = await temporaryDirectory();
    const stored = { ...flags, store: "sqlite", "data-dir": directory.path };
    for (const start of ["first", "second"]) {
      await using platform = await startPlatform(stored);
      const guess = async (at: number) => {
        const begin = performance.now();
        const headers = {
          "x-forwarded-for": `192.0.2.${at}`,
          "x-real-ip": `192.0.2.${at}`,
          forwarded: `for=192.0.2.${at}`,
        };
        const { status } = await platform.send({ path: "/api/v1/secrets", key: `guess-${at}`, headers });
        return { status, isHeld: performance.now() - begin >= 990 };
      };
      const guesses = await Promise.all(Array.from({ length: 3 + FRONT_THREADS }, (_, at) => guess(at + 1)));
      expect(new Set(guesses.map(({ status }) => status))).toEqual(new Set([401]));
      // One is free at each thread. That others are answered late needs no quick machine: they cannot come early.
      expect([start, guesses.filter(({ isHeld }) => isHeld).length]).toEqual([start, expect.toSatisfy((n) => n >= 3)]);
      expect((await platform.send({ path: "/api/v1/secrets" })).status).toBe(200);
    }
  });
});
