// Without --threads, further threads begin under load: clients go on meanwhile, and their connections move to them.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "node:tls";
import { expect } from "vitest";
import { byNight } from "../../tools/test-cost/by-night.ts";
import { metric, POLL } from "../attacks/testing/threads/clusters.ts";
import { NODE_WITH_THREADS, openConnections, WHY_NO_THREADS } from "./testing/front-threads.ts";
import { adminKey, httpClient } from "./testing/http-client.ts";
import { type PosternProcess, startPostern, temporaryDirectory } from "./testing/postern-process.ts";

const USERS = "/apis/management.postern/v1/users";
const TOGETHER = 50;

if (NODE_WITH_THREADS === undefined) process.stdout.write(`${WHY_NO_THREADS}\n`);

/** Keeps the server busy until it is disposed: requests are sent without waiting for each answer, which costs little here. */
async function keepBusy(server: PosternProcess, key: string): Promise<Disposable> {
  const ca = await readFile(server.caFile);
  const { hostname, port } = new URL(server.url);
  const requests = `GET ${USERS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n\r\n`.repeat(TOGETHER);
  let isOver = false;
  const open = (): void => {
    if (isOver) return;
    let answers = 0;
    const socket = connect({ host: hostname, port: Number(port), ca }, () => socket.write(requests));
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      answers += text.split("HTTP/1.1 ").length - 1;
      if (isOver) socket.destroy();
      else if (answers >= TOGETHER) {
        answers -= TOGETHER;
        socket.write(requests);
      }
    });
    // One that moves ends behind an answer.
    socket.on("error", () => {});
    socket.on("close", open);
  };
  for (let count = 0; count < 8; count++) open();
  return {
    [Symbol.dispose]() {
      isOver = true;
    },
  };
}

(NODE_WITH_THREADS === undefined ? byNight.skip : byNight)(
  "a further thread begins under load, and no request of a client fails when its connection moves",
  async () => {
    await using directory = await temporaryDirectory();
    await using server = await startPostern(
      join(directory.path, "data"),
      ["--max-threads", "2", "--store", "sqlite", "--connections-share-percent", "100"],
      { node: NODE_WITH_THREADS ?? "" },
    );
    const key = await adminKey(server);
    const fronts = async () => await metric(await httpClient(server), key, "postern_fronts");
    expect(await fronts()).toBe(1);
    using connections = await openConnections(server, 12);
    let isOver = false;
    const answers = connections.clients.map(async (client) => {
      const statuses = new Set<number>();
      while (!isOver) statuses.add((await client(USERS, { key })).status);
      return statuses;
    });
    {
      using _ = await keepBusy(server, key);
      await expect.poll(fronts, { ...POLL, timeout: 60_000 }).toBe(2);
      // Time for connections to move.
      await new Promise((resolve) => setTimeout(resolve, 5_000));
    }
    isOver = true;
    for (const statuses of await Promise.all(answers)) expect([...statuses]).toEqual([200]);
    // A revocation holds in both.
    const made = await connections.clients[0]?.("/apis/management.postern/v1/ownedaccesskeys", {
      key,
      body: { metadata: { name: "short" }, spec: { type: "User", user: "admin" } },
    });
    const short = made?.body.spec.key;
    const send = await httpClient(server);
    expect((await send("/apis/management.postern/v1/ownedaccesskeys/short", { key, method: "DELETE" })).status).toBe(
      200,
    );
    for (const client of connections.clients) expect((await client(USERS, { key: short })).status).toBe(401);
    expect(await server.stop()).toBe(0);
  },
  120_000,
);
