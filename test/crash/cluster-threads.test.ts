// Cluster threads end at random while clients write and watch: no acknowledged write is lost, none is seen twice, and watches go on without a gap.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { CONFIG_MAPS, createCluster, metric, POLL, pathOf } from "../attacks/testing/threads/clusters.ts";
import { adminKey, type HttpClient, httpClient, openResponse } from "../e2e/testing/http-client.ts";
import { startOwnServer } from "../e2e/testing/own-server.ts";
import { ENDED_THREADS, type PosternProcess } from "../e2e/testing/postern-process.ts";

const CLUSTERS = ["one", "two", "three"];
const WRITERS = 3;
const ENDS = Number(process.env["THREAD_ENDS"] ?? 6);
const PAUSE_MS = 1_500;

type Seen = { readonly name: string; readonly uid: string };

describe.each([1, 2])("with %i cluster threads", (threads) => {
  it("acknowledged writes are there, and watches report each once", async () => {
    await using server = await startOwnServer(["--cluster-threads", String(threads), "--store", "sqlite"], {
      env: { NODE_OPTIONS: `--import=${ENDED_THREADS}` },
    });
    const [send, key] = [await httpClient(server), await adminKey(server)];
    for (const name of CLUSTERS) await createCluster(send, key, name);
    const over = new AbortController();
    const written = CLUSTERS.map((cluster) => ({ cluster, names: new Set<string>() }));
    const writers = written.flatMap((to) =>
      Array.from({ length: WRITERS }, (_, id) => write(send, key, to, id, over.signal)),
    );
    const watches = CLUSTERS.map((cluster) => follow(server, send, key, cluster));
    const ended = () => metric(send, key, "postern_thread_restarts_total", "crashed");
    // A signal ends nothing while the thread that ended before has no successor yet.
    const endOne = async (): Promise<number> => {
      process.kill(server.pid, "SIGUSR2");
      await sleep(PAUSE_MS);
      return await ended();
    };
    await expect.poll(endOne, POLL).toBeGreaterThanOrEqual(ENDS);
    over.abort();
    await Promise.all(writers);
    for (const [index, { cluster, names }] of written.entries()) {
      let answer = await send(pathOf(cluster, CONFIG_MAPS), { key });
      // The thread that has this connection may be starting the cluster.
      for (; answer.status === 503; answer = await send(pathOf(cluster, CONFIG_MAPS), { key })) await sleep(50);
      const { body } = answer;
      const stored = new Set(body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name));
      expect([...names].filter((name) => !stored.has(name))).toEqual([]);
      expect(names.size).toBeGreaterThan(0);
      const seen = await watches[index];
      // One that was written in between without an answer counts as well.
      await expect.poll(() => [...stored].filter((name) => !seen?.names().has(String(name))), POLL).toEqual([]);
      expect(seen?.repeated()).toEqual([]);
      seen?.stop();
    }
  }, 300_000);
});

/** Notes the names that were acknowledged. */
async function write(
  send: HttpClient,
  key: string,
  { cluster, names }: { readonly cluster: string; readonly names: Set<string> },
  id: number,
  signal: AbortSignal,
): Promise<void> {
  for (let count = 0; !signal.aborted; count++) {
    const name = `w${id}-${count}`;
    const { status, text } = await send(pathOf(cluster, CONFIG_MAPS), { key, body: { metadata: { name } } });
    if (status === 201) names.add(name);
    else if (status === 503) await sleep(50);
    else throw new Error(`${status} ${text}`);
  }
}

type Followed = { names(): ReadonlySet<string>; repeated(): readonly string[]; stop(): void };

/** As an informer: lists once, then watches, and begins again where the watch before ended. */
async function follow(server: PosternProcess, send: HttpClient, key: string, cluster: string): Promise<Followed> {
  const list = () => send(pathOf(cluster, CONFIG_MAPS), { key });
  let listed = await list();
  for (; listed.status === 503; listed = await list()) await sleep(50);
  const seen: Seen[] = [];
  const add = ({ metadata }: { metadata: Seen }): void => void seen.push({ name: metadata.name, uid: metadata.uid });
  for (const item of listed.body.items) add(item);
  let from = String(listed.body.metadata.resourceVersion);
  let isStopped = false;
  const run = async (): Promise<void> => {
    while (!isStopped) {
      const path = pathOf(cluster, `${CONFIG_MAPS}?watch=true&timeoutSeconds=2&resourceVersion=${from}`);
      const watch = await openResponse(server, path, key);
      await watch.ended.catch(() => undefined);
      if (watch.status === 503) {
        await sleep(50);
        continue;
      }
      for (const line of watch.text().split("\n")) {
        // The last one may have been cut.
        if (line === "" || !line.endsWith("}")) continue;
        const { type, object } = JSON.parse(line);
        if (type === "ERROR") throw new Error(line);
        from = object.metadata.resourceVersion;
        if (type === "ADDED") add(object);
      }
    }
  };
  const running = run();
  running.catch(() => undefined);
  return {
    names: () => new Set(seen.map(({ name }) => name)),
    repeated: () =>
      seen.filter(({ uid }, index) => seen.findIndex((other) => other.uid === uid) !== index).map(({ name }) => name),
    stop() {
      isStopped = true;
    },
  };
}
