// Hostile agents: their answers, and what they send without being asked.

import { readFile } from "node:fs/promises";
import type { ServerHttp2Stream } from "node:http2";
import { request } from "node:https";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunningPlatform } from "../../testing/running-platform.ts";
import { answerWith, askForTunnel, GOOD_ANSWER, joinedKey, openFakeTunnel } from "./testing/fake-agent.ts";
import { startTunnelPlatform, WAIT } from "./testing/tunnel-platform.ts";

let platform: RunningPlatform;
let good: Awaited<ReturnType<typeof openFakeTunnel>>;
beforeAll(async () => {
  platform = await startTunnelPlatform();
  good = await openFakeTunnel(platform, { key: await joinedKey(platform, "good") }, answerWith(GOOD_ANSWER));
});
afterAll(async () => {
  await good?.[Symbol.asyncDispose]();
  await platform[Symbol.asyncDispose]();
});

/** The server serves others, whatever an agent has done. */
const servesOthers = async (): Promise<void> => {
  expect((await platform.send({ path: "/kubernetes/cluster/good/api" })).status).toBe(200);
};
const reasonAt = async (cluster: string): Promise<[number, string]> => {
  const { status, body } = await platform.send({ path: `/kubernetes/cluster/${cluster}/api` });
  return [status, body?.details?.causes?.[0]?.reason ?? body?.reason];
};

const head = (lines: readonly string[]): string => `${["HTTP/1.1 200 OK", ...lines].join("\r\n")}\r\n\r\n`;

describe("an answer through a tunnel", () => {
  it.each<[string, string, number, string]>([
    ["with a status of no HTTP", "HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n", 502, "InvalidResponse"],
    ["that is no HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n", 502, "InvalidResponse"],
    ["with a head without end", head([`x-a: ${"a".repeat(70_000)}`, "content-length: 0"]), 502, "InvalidResponse"],
    ["with interim responses without end", "HTTP/1.1 102 Processing\r\n\r\n".repeat(50), 502, "InvalidResponse"],
    [
      "that goes over to another protocol unasked",
      "HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
      502,
      "UpgradeFailed",
    ],
    ["that refuses the agent's credential", "HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n", 502, "CredentialRefused"],
    [
      "that leads elsewhere",
      head(["location: https://evil.example/x"]).replace("200 OK", "302 Found"),
      502,
      "RedirectRefused",
    ],
  ])("%s is not passed on", async (what, bytes, status, reason) => {
    const name = `answer-${what.replaceAll(/[^a-z]/g, "").slice(-20)}`;
    const key = await joinedKey(platform, name);
    await using _ = await openFakeTunnel(platform, { key }, answerWith(bytes));
    expect(await reasonAt(name)).toEqual([status, reason]);
    await servesOthers();
  });

  it("has no header that speaks for the platform's origin", async () => {
    const key = await joinedKey(platform, "headers");
    const bytes = head([
      "set-cookie: __Host-session=x",
      "content-security-policy: none",
      "content-length: 2",
      "x-evil: 1",
    ]);
    await using _ = await openFakeTunnel(platform, { key }, answerWith(`${bytes}{}`));
    const { headers } = await platform.send({ path: "/kubernetes/cluster/headers/api" });
    expect(headers["set-cookie"]).toBeUndefined();
    expect(headers["x-evil"]).toBeUndefined();
    expect(headers["content-security-policy"]).toBe("sandbox");
  });

  it("that breaks off is no whole one for its caller", async () => {
    const key = await joinedKey(platform, "broken");
    const cut = (stream: ServerHttp2Stream): void => {
      stream.respond({ ":status": 200 });
      stream.once("data", () => {
        stream.write(Buffer.from(`${head(["content-length: 1000000"])}${"x".repeat(200_000)}`));
        setTimeout(() => stream.session?.destroy(), 200);
      });
    };
    await using _ = await openFakeTunnel(platform, { key }, cut);
    await expect(platform.send({ path: "/kubernetes/cluster/broken/api" })).rejects.toThrow();
    await servesOthers();
  });
});

describe("an answer without an end", () => {
  const BLOCK = Buffer.alloc(64 << 10, "x");
  /** As fast as the tunnel takes it. */
  const pump = (stream: ServerHttp2Stream): void => {
    while (!stream.destroyed && stream.write(BLOCK));
    if (!stream.destroyed) stream.once("drain", () => pump(stream));
  };

  it("ends with its caller, and the server's own checks of the cluster end as well", async () => {
    const key = await joinedKey(platform, "endless");
    const ended: string[] = [];
    await using _ = await openFakeTunnel(platform, { key }, (stream) => {
      stream.respond({ ":status": 200 });
      stream.once("data", (chunk: Buffer) => {
        const [asked = ""] = chunk.toString("latin1").split(" HTTP/");
        stream.once("close", () => ended.push(asked));
        stream.write(Buffer.from(head(["content-type: application/json"])));
        pump(stream);
      });
    });
    const ca = await readFile(platform.server.caPath);
    const headers = { authorization: `Bearer ${platform.adminKey}` };
    const caller = request(new URL("/kubernetes/cluster/endless/api", platform.server.url), { ca, headers });
    await new Promise<void>((resolve, reject) => {
      caller.once("error", reject);
      caller.once("response", (answer) => answer.once("data", () => resolve()));
      caller.end();
    });
    caller.on("error", () => undefined);
    caller.destroy();
    await expect
      .poll(() => ended, WAIT)
      .toEqual(expect.arrayContaining(["GET /api", expect.stringMatching(/^GET \/(readyz|version)/)]));
    await servesOthers();
  });
});

describe("an agent", () => {
  it.each<[string, (stream: ServerHttp2Stream) => void]>([
    ["refuses streams", (stream) => stream.respond({ ":status": 403 }, { endStream: true })],
    ["resets streams", (stream) => stream.close(2)],
    ["closes the tunnel at the first stream", (stream) => stream.session?.destroy()],
  ])("that %s is not reached", async (what, onStream) => {
    const name = `agent-${what.replaceAll(/[^a-z]/g, "").slice(-20)}`;
    const key = await joinedKey(platform, name);
    await using _ = await openFakeTunnel(platform, { key }, onStream);
    expect((await reasonAt(name))[0]).toBeGreaterThanOrEqual(502);
    await servesOthers();
  });

  it("that sends heads before its answer loses its tunnel", async () => {
    const key = await joinedKey(platform, "interim");
    await using agent = await openFakeTunnel(platform, { key }, (stream) =>
      stream.additionalHeaders({ ":status": 103 }),
    );
    const [[status]] = await Promise.all([reasonAt("interim"), agent.closed]);
    expect(status).toBeGreaterThanOrEqual(502);
    await servesOthers();
  });

  it("that pushes a stream asks for nothing: it is not read", async () => {
    const key = await joinedKey(platform, "pushes");
    const errors: unknown[] = [];
    const push = (stream: ServerHttp2Stream): void => {
      try {
        stream.pushStream({ ":path": "/apis/management.postern/v1/clusters" }, (error) => errors.push(error));
      } catch (error) {
        errors.push(error);
      }
      stream.respond({ ":status": 500 }, { endStream: true });
    };
    await using _ = await openFakeTunnel(platform, { key }, push);
    expect((await reasonAt("pushes"))[0]).toBeGreaterThanOrEqual(502);
    expect(errors.length).toBeGreaterThan(0);
    await servesOthers();
  });

  it.each<[string, Buffer]>([
    ["garbage", Buffer.from("GET /apis/management.postern/v1/clusters HTTP/1.1\r\nhost: x\r\n\r\n")],
    ["frames without settings", Buffer.from("000000040000000001".repeat(200), "hex")],
    // HEADERS of stream 2, as a server opens it: a request of the agent to the platform.
    ["a stream of its own", Buffer.from("00000004000000000000000b010500000002828487410669782e636f6d", "hex")],
    ["names of other servers", Buffer.from("0000000400000000000000030c0000000000000161", "hex")],
    [
      "that it leaves, again and again",
      Buffer.from(`000000040000000000${"0000080700000000007fffffff00000000".repeat(9)}`, "hex"),
    ],
    ["a push without an ask", Buffer.from("0000000400000000000000090504000000010000000282848741", "hex")],
  ])("that sends %s behind the 101 loses its tunnel alone", async (what, bytes) => {
    const name = `sends-${what.replaceAll(/[^a-z]/g, "")}`;
    const key = await joinedKey(platform, name);
    const { socket } = await askForTunnel(platform, { key });
    const closed = new Promise<void>((resolve) => socket?.once("close", () => resolve()));
    socket?.resume();
    socket?.write(bytes);
    await closed;
    await servesOthers();
    expect((await reasonAt(name))[0]).toBeGreaterThanOrEqual(502);
  });

  it("that never reads or answers is given up, and no request waits for it", { timeout: 60_000 }, async () => {
    const key = await joinedKey(platform, "silent");
    const { socket } = await askForTunnel(platform, { key });
    const closed = new Promise<void>((resolve) => socket?.once("close", () => resolve()));
    socket?.resume();
    const [[status]] = await Promise.all([reasonAt("silent"), closed]);
    expect(status).toBeGreaterThanOrEqual(502);
    await servesOthers();
  });
});
