// The receiver of audit events gets all that the log has, whenever the server is killed and whatever the receiver answers.

import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { expect, it } from "vitest";
import { adminKey, httpClient } from "../e2e/testing/http-client.ts";
import { startPostern, temporaryDirectory } from "../e2e/testing/postern-process.ts";

const SEED = Number(process.env["TEST_SEED"] ?? Date.now() % 100_000);
const KEYS = "/apis/management.postern/v1/ownedaccesskeys";
const ROUNDS = 4;

it(`delivers every event of the log, in its order (TEST_SEED=${SEED})`, async () => {
  const random = randomNumbers(SEED);
  await using folder = await temporaryDirectory();
  const dataDir = join(folder.path, "data");
  const lines: string[] = [];
  let failing = 0;
  const receiver = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const status = failing-- > 0 ? 503 : 200;
    if (status === 200) lines.push(...JSON.parse(body).items.map((event: object) => JSON.stringify(event)));
    response.writeHead(status).end();
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const config = join(folder.path, "webhook.kubeconfig");
  const server = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  await writeFile(
    config,
    `{"clusters": [{"name": "a", "cluster": {"server": "${server}"}}], "contexts": [{"name": "a", "context": {"cluster": "a"}}], "current-context": "a"}`,
  );

  let number = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const isLast = round === ROUNDS - 1;
    // Events that are not delivered while a server ends are sent by the next one.
    failing = isLast ? 0 : random(3);
    const postern = await startPostern(dataDir, [
      "--audit-webhook-config-file",
      config,
      "--audit-webhook-batch-max-size",
      "7",
      "--audit-log-mode",
      "blocking",
    ]);
    const send = await httpClient(postern);
    const key = await adminKey(postern);
    const until = performance.now() + random(1_500);
    do {
      const body = { metadata: { name: `key-${number++}` }, spec: { ttl: 3_600 } };
      expect((await send(KEYS, { key, method: "POST", body })).status).toBe(201);
    } while (performance.now() < until);
    await postern.stop(isLast ? "SIGTERM" : "SIGKILL");
  }
  receiver.close();
  receiver.closeAllConnections();

  const log = (await readFile(join(dataDir, "audit.log"), "utf8")).split("\n").slice(0, -1);
  expect(log.filter((line) => line.includes('"verb":"create"')).length).toBeGreaterThanOrEqual(number);
  // After a kill, the last part may come twice.
  expect([...new Set(lines)]).toEqual(log);
  expect(lines.length - log.length).toBeLessThanOrEqual(7 * (ROUNDS - 1));
});
