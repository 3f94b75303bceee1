// Informers over thousands of objects that never stand still, across kills, restarts and a compaction on the server's own schedule: in the
// end they know exactly what the server has.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CoreV1Api, KubeConfig, makeInformer, type V1Secret } from "@kubernetes/client-node";
import { lastingPortFlags } from "@postern/stores/testing/lasting-ports";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startChurn } from "./testing/churn.ts";
import { type Gate, openGate } from "./testing/gate.ts";
import { adminKey, type HttpClient, httpClient } from "./testing/http-client.ts";
import { type PosternProcess, startPostern, temporaryDirectory } from "./testing/postern-process.ts";
import { startPythonInformer, whyNoPythonClient } from "./testing/python.ts";
import { storesUnderTest } from "./testing/stores.ts";

const SECRETS = "/api/v1/namespaces/default/secrets";
const OBJECTS = Number(process.env["INFORMER_OBJECTS"] ?? 2_000);
/** How many writes happen at least in each part of the test. */
const WRITES = 300;
/** Long enough for the pages of one list on a machine that has much else to do. */
const HISTORY = ["--history-max-age-seconds", "3"];
/** For machines that have much else to do. */
const TIMEOUT_MS = 400_000;
const seed = Number(process.env["TEST_SEED"]);

const { stores, missing } = storesUnderTest({ durable: true });
const noPython = await whyNoPythonClient();
const left = [...missing, ...(noPython === undefined ? [] : [noPython])];

describe.skipIf(left.length === 0)(`without: ${left.join("; ")}`, () => {
  it.skip("is tested with the others alone", () => {});
});

describe.each(stores)("informers on $storeName", ({ newStore }) => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let flags: readonly string[];
  let server: PosternProcess;
  let gate: Gate;
  let http: HttpClient;
  let key: string;
  let throughGate: string;

  beforeAll(async () => {
    directory = await temporaryDirectory();
    flags = [...newStore(), ...HISTORY, ...(await lastingPortFlags())];
    server = await startPostern(join(directory.path, "data"), flags);
    gate = await openGate(Number(new URL(server.url).port));
    http = await httpClient(server);
    key = await adminKey(server);
    throughGate = join(directory.path, "gate.kubeconfig");
    const config = await readFile(server.adminKubeconfig, "utf8");
    await writeFile(throughGate, config.replaceAll(server.url, `https://127.0.0.1:${gate.port}`), { mode: 0o600 });
  });

  afterAll(async () => {
    await gate?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
    await directory?.[Symbol.asyncDispose]();
  });

  const configOf = (path: string): KubeConfig => {
    const config = new KubeConfig();
    config.loadFromFile(path);
    return config;
  };

  async function restart(signal: NodeJS.Signals): Promise<void> {
    await server.stop(signal);
    server = await startPostern(server.dataDir, flags);
  }

  /** Waits until the server has forgotten, by itself, what it had at a version. */
  const forgotten = (version: string): Promise<void> =>
    expect
      .poll(
        async () =>
          (await http(`${SECRETS}?limit=1&resourceVersion=${version}&resourceVersionMatch=Exact`, { key })).status,
        { timeout: 60_000, interval: 200 },
      )
      .toBe(410);

  it(`M-05, M-06 end with exactly what the server has (TEST_SEED=${seed})`, { timeout: TIMEOUT_MS }, async () => {
    const direct = configOf(server.adminKubeconfig).makeApiClient(CoreV1Api);
    await using churn = await startChurn(server.adminKubeconfig, { objects: OBJECTS, seed });

    const config = configOf(throughGate);
    const core = config.makeApiClient(CoreV1Api);
    let lists = 0;
    const informer = makeInformer(config, SECRETS, () => {
      lists++;
      return core.listNamespacedSecret({ namespace: "default" });
    });
    const handled = new Map<string, string>();
    const keep = (secret: V1Secret): void => void handled.set(secret.metadata?.name ?? "", stateOf(secret));
    informer.on("add", keep);
    informer.on("update", keep);
    informer.on("delete", ({ metadata }) => void handled.delete(metadata?.name ?? ""));
    let isOver = false;
    // As its documentation says: its user starts it again after an error.
    const again = (): void => {
      if (!isOver) setTimeout(() => void informer.start().catch(again), 50);
    };
    informer.on("error", again);
    await informer.start();
    using python = noPython === undefined ? startPythonInformer(throughGate) : undefined;
    if (python !== undefined) await expect.poll(python.errors, { timeout: 60_000 }).toContain("listed");
    await churn.writes(WRITES);

    // A kill in the middle of it: the watches go on where they were.
    await restart("SIGKILL");
    await churn.writes(WRITES);
    const listsBefore = lists;

    // Out of reach, until the server has forgotten where they were: they have to begin anew.
    gate.shut();
    await restart("SIGTERM");
    const { metadata } = await direct.listNamespacedSecret({ namespace: "default", limit: 1 });
    await churn.writes(WRITES);
    await forgotten(metadata?.resourceVersion ?? "");
    gate.open();
    await churn.writes(WRITES);
    await restart("SIGKILL");
    await churn.writes(WRITES);
    await churn.stop();

    await direct.createNamespacedSecret({ namespace: "default", body: { metadata: { name: "end" } } });
    const { items } = await direct.listNamespacedSecret({ namespace: "default" });
    const expected = statesOf(items);
    expect(expected.size).toBeGreaterThan(OBJECTS / 2);
    await expect.poll(() => statesOf(informer.list("default")), { timeout: 60_000 }).toEqual(expected);
    expect(handled).toEqual(expected);
    expect(lists).toBeGreaterThan(listsBefore);
    isOver = true;
    await informer.stop();

    if (python !== undefined) {
      const seen = await python.result();
      expect(new Map(Object.entries(seen.known))).toEqual(expected);
      expect(seen.lists).toBeGreaterThan(1);
      // Two lists at least came through, of more than a thousand objects each.
      expect(seen.pages).toBeGreaterThanOrEqual(6);
      expect(seen.expired).toBeGreaterThan(0);
    }
  });
});

/** The very object, and the very write to it. */
const stateOf = ({ metadata }: V1Secret): string => `${metadata?.uid} ${metadata?.resourceVersion}`;

const statesOf = (secrets: readonly V1Secret[]): ReadonlyMap<string, string> =>
  new Map(secrets.map((secret) => [secret.metadata?.name ?? "", stateOf(secret)]));
