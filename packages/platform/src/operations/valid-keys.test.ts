// The list of keys in force, taken where the news of a revocation has not come yet.

import { readFile } from "node:fs/promises";
import { http1 } from "@postern/apiserver/transport/testing/test-clients";
import { startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { startRelay } from "@postern/stores/etcd/testing/start-relay";
import { expect, it } from "vitest";
import { loadConfiguration } from "../foundation/config/configuration.ts";
import { startServer } from "../main.ts";
import { temporaryDirectory } from "../testing/temporary-directory.ts";
import { listValidKeys } from "./list-valid-keys.ts";
import { openStoppedServer } from "./stopped-server.ts";

it.skipIf(whyNoEtcd() !== undefined)("has everything that another server revoked before the request", async () => {
  await using directory = await temporaryDirectory();
  await using etcd = await startEtcd();
  const [endpoint = ""] = etcd.endpoints;
  using way = await startRelay(endpoint);
  const configure = (store: string) =>
    loadConfiguration({
      flags: new Map([
        ["data-dir", directory.path],
        ["store", `etcd://${store}`],
        ["secure-port", "0"],
        ["log-level", "silent"],
        ["shutdown-drain-seconds", "0"],
      ]),
      workingDirectory: directory.path,
    });
  const server = await startServer(await configure(endpoint));
  await using _server = { [Symbol.asyncDispose]: () => server.close() };
  const token = /token: (\S+)/.exec(await readFile(server.adminKubeconfigPath, "utf8"))?.[1];
  const send = async (method: string, path: string, body?: object) => {
    const { status, body: text } = await http1({
      port: Number(new URL(server.url).port),
      path: `/apis/management.postern/v1/${path}`,
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (status >= 300) throw new Error(text);
    return JSON.parse(text);
  };
  const make = async (name: string): Promise<string> =>
    (await send("POST", "ownedaccesskeys", { metadata: { name }, spec: {} })).metadata.uid;
  const [stays, revoked] = [await make("stays"), await make("revoked")];

  await using far = await openStoppedServer(await configure(way.endpoint));
  // Nothing that happens from here on is seen there.
  way.holdAnswers();
  await send("DELETE", "ownedaccesskeys/revoked");
  let now = 1;
  const listing = listValidKeys(far.inForce, { now: () => now, elapsed: () => now });
  now = 2;
  way.releaseAnswers();
  const { takenAt, keys } = await listing;
  const uids = keys.map(({ uid }) => uid);
  expect(uids).toContain(stays);
  expect(uids).not.toContain(revoked);
  // Keys that are revoked while the list is written may be in it or not: it shows the state before.
  expect(takenAt).toBe(1);
});
