import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { CommandContext } from "../command-context.ts";
import { signInWithBrowser } from "./sign-in.ts";

const key = randomBytes(24).toString("hex");
const code = randomBytes(24).toString("hex");
let redeemed: URLSearchParams[];
let challenge = "";

/** Redeems one code, for the verifier of the challenge that was asked with. */
const platform = createServer((request, response) => {
  let text = "";
  request.on("data", (part) => (text += part));
  request.on("end", () => {
    const form = new URLSearchParams(text);
    redeemed.push(form);
    const proof = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const isGood = request.url === "/oauth/token" && form.get("code") === code && proof === challenge;
    response.writeHead(isGood ? 200 : 400, { "content-type": "application/json" });
    response.end(JSON.stringify(isGood ? { access_token: key } : { error: "invalid_grant" }));
  });
});
let server = "";

beforeAll(async () => {
  await new Promise<void>((resolve) => platform.listen(0, "127.0.0.1", resolve));
  server = `http://127.0.0.1:${(platform.address() as AddressInfo).port}`;
});
afterAll(() => {
  platform.closeAllConnections();
  platform.close();
});
beforeEach(() => {
  redeemed = [];
});

/** A command line that waits for the browser. */
async function begin() {
  let say = (_url: URL): void => {};
  const shown = new Promise<URL>((resolve) => {
    say = resolve;
  });
  const stderr = { write: (text: string) => say(new URL(/https:\S+/.exec(text)?.[0] ?? "")) };
  const context = { stderr, environment: { BROWSER: "none" } } as unknown as CommandContext;
  const metadata = { issuer: server, authorization_endpoint: "https://platform.test/oauth/authorize" };
  const result = signInWithBrowser({ server }, metadata, context);
  result.catch(() => {});
  const { searchParams } = await shown;
  challenge = searchParams.get("code_challenge") ?? "";
  const redirectUri = searchParams.get("redirect_uri") ?? "";
  const state = searchParams.get("state") ?? "";
  const come = async (query: object, path = redirectUri, init: RequestInit = {}) =>
    (await fetch(`${path}?${new URLSearchParams({ ...query })}`, init)).status;
  return { result, redirectUri, state, come };
}

describe("a command line that waits for the browser", () => {
  it("takes the answer with its state, and redeems it with its verifier", async () => {
    const { result, redirectUri, state, come } = await begin();
    expect(await come({ code, state, iss: server })).toBe(200);
    expect(await result).toBe(key);
    expect(redeemed.map((form) => form.get("redirect_uri"))).toEqual([redirectUri]);
  });

  it.each(["//", "http://[", "//[/callback"])("goes on after a request for %s", async (path) => {
    const { result, redirectUri, state, come } = await begin();
    const { port } = new URL(redirectUri);
    const socket = connect(Number(port), "127.0.0.1");
    socket.end(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
    const answer = await new Promise<string>((resolve, reject) => {
      let text = "";
      socket.on("data", (part) => (text += part)).once("close", () => resolve(text));
      socket.once("error", reject);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
    expect(await come({ code, state, iss: server })).toBe(200);
    expect(await result).toBe(key);
  });

  it("heeds no other program that finds its port", async () => {
    const { result, redirectUri, state, come } = await begin();
    // It may never end what it begins.
    const { port } = new URL(redirectUri);
    const held = connect(Number(port), "127.0.0.1").on("error", () => {});
    await new Promise((resolve) => held.write("GET /callback HTTP/1.1\r\n", resolve));
    const guess = randomBytes(32).toString("base64url");
    const evil = { code: "evil", iss: server };
    const root = new URL("/", redirectUri).href;
    const attempts = await Promise.all([
      come(evil),
      come({ ...evil, state: guess }),
      come({ ...evil, state: "" }),
      come({ error: "access_denied", iss: server }),
      come({ error: "access_denied", state: guess, iss: server }),
      // Another platform's answer to the same browser.
      come({ code: "evil", state, iss: "https://evil.test" }),
      come({ code: "evil", state }),
      come({ ...evil, state }, root),
      come({ ...evil, state }, redirectUri, { method: "POST" }),
    ]);
    expect(attempts).toEqual(attempts.map(() => 404));
    expect(redeemed).toEqual([]);
    expect(await come({ code, state, iss: server })).toBe(200);
    expect(await result).toBe(key);
  });

  it("does not share its port with another program on any address", async () => {
    const { result, redirectUri, state, come } = await begin();
    const { port } = new URL(redirectUri);
    for (const host of ["127.0.0.1", "0.0.0.0"]) {
      const rival = createTcpServer();
      const outcome = await new Promise<string>((resolve) => {
        rival.once("error", (error) => resolve("code" in error ? String(error.code) : error.message));
        rival.listen(Number(port), host, () => resolve("listening"));
      });
      rival.close();
      expect([host, outcome]).toEqual([host, "EADDRINUSE"]);
    }
    await come({ code, state, iss: server });
    expect(await result).toBe(key);
  });

  it("refuses a code that another party has injected, and reports it", async () => {
    const { result, state, come } = await begin();
    expect(await come({ code: "a rival's", state, iss: server })).toBe(200);
    await expect(result).rejects.toThrow("not signed in: invalid_grant");
  });

  it("releases the port, and reports a refusal", async () => {
    const { result, redirectUri, state, come } = await begin();
    expect(await come({ error: "access_denied", state, iss: server })).toBe(200);
    await expect(result).rejects.toThrow("refused in the browser");
    await expect(fetch(redirectUri)).rejects.toThrow();
  });
});
