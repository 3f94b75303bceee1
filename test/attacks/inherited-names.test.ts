// Names that every object of JavaScript has, where clients choose a name: none of them is a method, an operator or a curve.

import { readFile } from "node:fs/promises";
import { connect } from "node:http2";
import { connect as connectTls } from "node:tls";
import { type RunningPlatform, startPlatform } from "@postern/platform/testing/running-platform";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const NAMES = ["constructor", "toString", "hasOwnProperty", "__proto__", "valueOf"];

let platform: RunningPlatform;
let ca: Buffer;
let directory: string;

beforeAll(async () => {
  platform = await startPlatform();
  ca = await readFile(platform.server.caPath);
  const { create } = platform;
  await create("users", { metadata: { name: "directory" }, spec: { kind: "Bot" } });
  const spec = { user: "directory", scope: { roles: [{ role: "scim" }] } };
  directory = (await create("ownedaccesskeys", { metadata: { name: "directory" }, spec })).spec.key;
});
afterAll(() => platform?.[Symbol.asyncDispose]());

const isAlive = async (): Promise<boolean> => (await platform.send({ path: "/healthz", key: "" })).status === 200;

function overHttp2(method: string, path: string): Promise<number> {
  const session = connect(platform.server.url, { ca });
  return new Promise<number>((resolve, reject) => {
    session.on("error", reject);
    const stream = session.request({ ":method": method, ":path": path });
    let status = 0;
    stream.on("response", (headers) => {
      status = Number(headers[":status"]);
    });
    stream.on("error", reject);
    stream.on("close", () => resolve(status));
    stream.resume();
    stream.end();
  }).finally(() => session.destroy());
}

/** No client of Node sends such a method. */
function overHttp1(method: string, path: string): Promise<number> {
  const { hostname, port } = new URL(platform.server.url);
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host: hostname, port: Number(port), ca, ALPNProtocols: ["http/1.1"] });
    let text = "";
    socket.on("data", (part) => (text += part));
    socket.on("error", reject);
    socket.on("close", () => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0)));
    socket.write(`${method} ${path} HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`);
  });
}

describe("as methods", () => {
  const paths = [
    "/login",
    "/login/callback/x",
    "/device",
    "/oauth/token",
    "/oauth/device_authorization",
    "/scim/v2/Users",
  ];
  it.each(NAMES)("%s is refused by every page of sign-in, and ends nothing", async (name) => {
    for (const path of paths) {
      const statuses = [await overHttp2(name, path), await overHttp1(name, path)];
      expect([path, statuses, statuses.every((status) => status >= 400 && status < 500)]).toEqual([
        path,
        statuses,
        true,
      ]);
    }
    expect(await isAlive()).toBe(true);
  });
});

describe("in SCIM", () => {
  const scim = (path: string) => platform.send({ path: `/scim/v2/${path}`, key: directory });
  it.each(NAMES)("%s is no operator and no document", async (name) => {
    expect((await scim(`Users?filter=${encodeURIComponent(`userName ${name} "x"`)}`)).status).toBe(400);
    expect((await scim(name)).status).toBe(404);
    expect((await scim(`Schemas/${name}`)).status).toBe(404);
  });
});

describe("in trust rules", () => {
  it.each(NAMES)("%s is no curve", async (crv) => {
    const jwks = JSON.stringify({ keys: [{ kty: "EC", crv, x: "AA", y: "AA" }] });
    const spec = {
      issuer: { url: "https://issuer.test", jwks },
      audiences: ["a"],
      claims: [{ claim: "sub", values: ["s"] }],
      user: "directory",
    };
    const { status, body } = await platform.send({
      path: "clustertrustrules",
      body: { metadata: { name: "odd" }, spec },
    });
    expect([status, body.details?.causes?.[0]?.field]).toEqual([422, "spec.issuer.jwks"]);
  });
});

describe("as resources", () => {
  it.each(NAMES)("%s is refused, and can be recorded", async (name) => {
    const { status } = await platform.send({ path: `/apis/x.test/v1/${name}`, body: { kind: "X" } });
    expect([status, await isAlive()]).toEqual([404, true]);
  });
});
