// The last use of a key with its source: what a client says of itself is bounded and never taken for an address, and a second network is announced.

import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import {
  type PosternProcess,
  startPostern,
  succeed,
  temporaryDirectory,
  tool,
} from "../e2e/testing/postern-process.ts";
import { attackerOf } from "./testing/attacking.ts";

/** Last uses are written once a minute. */
const PATIENCE = { timeout: 150_000, interval: 500 };

type Client = Awaited<ReturnType<typeof attackerOf>>;

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: PosternProcess;
let client: Client;

const start = async (): Promise<void> => {
  server = await startPostern(join(directory.path, "data"));
  client = await attackerOf(server);
};
beforeAll(async () => {
  directory = await temporaryDirectory();
  await start();
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await directory?.[Symbol.asyncDispose]();
});

/** By curl, from an address of this machine. */
const use = (key: string, address: string, userAgent: string): Promise<string> =>
  succeed(
    tool("curl", [
      ...["--silent", "--show-error", "--fail", "--output", "/dev/null", "--cacert", server.caFile],
      ...["--interface", address, "--user-agent", userAgent, "--header", "X-Forwarded-For: 192.0.2.7"],
      ...["--header", `authorization: Bearer ${key}`, `${server.url}/apis/management.postern/v1/projects`],
    ]),
  );
const shown = async (): Promise<any> => (await client.must({ path: "ownedaccesskeys/watched" })).status.lastUsedFrom;
const networksAnnounced = async (): Promise<readonly string[]> => {
  const { items } = await client.must({ path: "/api/v1/events" });
  return items.flatMap(({ reason, message, involvedObject: { name } }: any) =>
    reason === "NewNetwork" && name === "watched" ? [message] : [],
  );
};

it("says from where and with which client, and announces a network that is new", async () => {
  const key = await client.key("watched", { user: "admin" });
  await use(key, "127.0.0.2", "job/1.0");
  // They are written at the end of the server as well.
  expect(await server.stop()).toBe(0);
  await start();
  expect(await shown()).toEqual({ address: "127.0.0.2", userAgent: "job/1.0" });
  expect(await networksAnnounced()).toEqual([]);
  // A text of any length is cut, and a credential in it is none any more.
  await use(key, "127.0.0.9", `thief ${key} ${"x".repeat(30_000)}`);
  await vi.waitUntil(async () => (await shown()).address === "127.0.0.9", PATIENCE);
  const lastUsedFrom = await shown();
  expect(lastUsedFrom).toEqual({ address: "127.0.0.9", userAgent: expect.stringMatching(/^thief \S*<redacted> x+$/) });
  expect(lastUsedFrom.userAgent).toHaveLength(200);
  await vi.waitFor(
    async () => expect(await networksAnnounced()).toEqual([expect.stringContaining("new network: 127.0.0.9")]),
    PATIENCE,
  );
  const viewer = await client.user("viewer");
  expect((await client.send({ path: "ownedaccesskeys/watched", as: viewer })).status).toBe(404);
}, 240_000);
