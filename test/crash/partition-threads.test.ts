// One of two threads that serve requests loses etcd, and the other keeps it: its connections are cut, or nothing comes back over them. The one that lost it
// refuses within the bound, the other one serves reads, writes and revocations, nothing is accepted after the answer, and both agree when it is back.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { FRESHNESS_BOUND_MS } from "@postern/apiserver/cache/freshness";
import { temporaryDirectory } from "@postern/platform/testing/temporary-directory";
import { startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { startRelay } from "@postern/stores/etcd/testing/start-relay";
import { describe, expect, it } from "vitest";
import { NODE_WITH_THREADS, openConnections, WHY_NO_THREADS } from "../e2e/testing/front-threads.ts";
import { adminKey, type HttpClient, type HttpRequest } from "../e2e/testing/http-client.ts";
import { startPostern } from "../e2e/testing/postern-process.ts";

const PRELOAD = join(import.meta.dirname, "testing/redirected-thread.mjs");
const KEYS = "/apis/management.postern/v1/ownedaccesskeys";
const PROJECTS = "/apis/management.postern/v1/projects";
const CONNECTIONS = 16;
/** Beyond the bound, for timers and a busy machine. */
const SLACK_MS = 8_000;
const WAIT = { timeout: 60_000, interval: 100 };
const PROBE_MS = 100;

if (NODE_WITH_THREADS === undefined) process.stdout.write(`${WHY_NO_THREADS}\n`);

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** A request that is not answered in time counts as none. */
const statusOf = async (client: HttpClient, path: string, options: HttpRequest): Promise<number> =>
  await Promise.race([
    client(path, options).then(
      ({ status }) => status,
      () => 0,
    ),
    pause(20_000).then(() => 0),
  ]);

describe.skipIf(NODE_WITH_THREADS === undefined || whyNoEtcd() !== undefined).each([
  ["the first thread, which leads", "cut off"],
  ["the first thread, which leads", "unanswered"],
  ["another thread", "cut off"],
  ["another thread", "unanswered"],
] as const)("%s is %s", (which, how) => {
  it("refuses within the bound, while the other one serves", { timeout: 300_000 }, async () => {
    await using etcd = await startEtcd();
    const [endpoint = ""] = etcd.endpoints;
    using ofFirst = await startRelay(endpoint);
    using ofOther = await startRelay(endpoint);
    const portOf = (relay: typeof ofFirst): string => relay.endpoint.split(":")[1] ?? "";
    await using directory = await temporaryDirectory();
    await using server = await startPostern(
      join(directory.path, "data"),
      [
        ...["--store", `etcd://${ofFirst.endpoint}`, "--etcd-new-installation", "--threads", "2"],
        ...["--failed-logins-per-minute", "0", "--audit-log-mode", "blocking", "--audit-log-maxsize", "0"],
      ],
      {
        env: {
          NODE_OPTIONS: `--import=${PRELOAD}`,
          REDIRECTED_THREAD: "front-1",
          REDIRECTED_FROM: portOf(ofFirst),
          REDIRECTED_TO: portOf(ofOther),
        },
        node: NODE_WITH_THREADS ?? "",
      },
    );
    const admin = await adminKey(server);
    using connections = await openConnections(server, CONNECTIONS);
    const { clients } = connections;
    const createKey = async (client: HttpClient, name: string): Promise<string> => {
      const body = { metadata: { name }, spec: { type: "User", user: "admin" } };
      const made = await client(KEYS, { key: admin, body });
      expect(made.status, made.text).toBe(201);
      return made.body.spec.key;
    };
    const everywhere = async (path: string, options: HttpRequest): Promise<readonly number[]> =>
      await Promise.all(clients.map((client) => statusOf(client, path, options)));

    const key = await createKey(clients[0] as HttpClient, "revoked");
    expect(new Set(await everywhere(PROJECTS, { key }))).toEqual(new Set([200]));

    const relay = which === "another thread" ? ofOther : ofFirst;
    if (how === "cut off") relay.break();
    else relay.holdAnswers();
    const cutAt = performance.now();
    let answeredAt = Number.POSITIVE_INFINITY;
    let isOver = false;
    const late: number[] = [];
    using probes = await openConnections(server, CONNECTIONS);
    const probing = probes.clients.map(async (client) => {
      while (!isOver) {
        const askedAt = performance.now();
        const status = await statusOf(client, PROJECTS, { key });
        if (status === 200 && askedAt > answeredAt) late.push(askedAt - answeredAt);
        await pause(PROBE_MS);
      }
    });
    // The thread that lost etcd answers none of them, or says that it does not know.
    using revoking = await openConnections(server, CONNECTIONS);
    const path = `${KEYS}/revoked`;
    await Promise.any(
      revoking.clients.map(async (client) => {
        const status = await statusOf(client, path, { key: admin, method: "DELETE" });
        if (status !== 200) throw new Error(`${status}`);
      }),
    );
    answeredAt = performance.now();
    const revocationMs = answeredAt - cutAt;
    expect(revocationMs).toBeLessThan(FRESHNESS_BOUND_MS + SLACK_MS);

    await pause(Math.max(0, cutAt + FRESHNESS_BOUND_MS + 1_000 - performance.now()));
    const statuses = await everywhere(PROJECTS, { key: admin });
    const servedBy = (status: number): readonly HttpClient[] => clients.filter((_, at) => statuses[at] === status);
    const [sound, lost] = [servedBy(200), servedBy(503)];
    expect(sound.length).toBeGreaterThan(0);
    expect(lost.length).toBeGreaterThan(0);
    expect(sound.length + lost.length).toBe(CONNECTIONS);
    const [one, other] = [sound[0] as HttpClient, lost[0] as HttpClient];
    expect(await statusOf(one, "/readyz", {})).toBe(200);
    expect(await statusOf(other, "/readyz", {})).not.toBe(200);
    expect(await statusOf(other, PROJECTS, { key: admin, body: { metadata: { name: "refused" } } })).not.toBe(201);
    // Under a limit, whose lock the first thread has; and a revocation that nothing waits for any more.
    const began = performance.now();
    const second = await createKey(one, "second");
    expect(await statusOf(one, `${KEYS}/second`, { key: admin, method: "DELETE" })).toBe(200);
    const writesMs = performance.now() - began;
    expect(await statusOf(one, PROJECTS, { key: second })).toBe(401);

    relay.mend(endpoint);
    if (how === "unanswered") relay.releaseAnswers();
    const mendedAt = performance.now();
    await expect.poll(async () => new Set(await everywhere(PROJECTS, { key: admin })), WAIT).toEqual(new Set([200]));
    const mendedMs = performance.now() - mendedAt;
    isOver = true;
    await Promise.all(probing);
    expect(late).toEqual([]);
    for (const gone of [key, second])
      expect(new Set(await everywhere(PROJECTS, { key: gone }))).toEqual(new Set([401]));
    expect(new Set(await everywhere(`${PROJECTS}/refused`, { key: admin }))).toEqual(new Set([404]));
    // A controller of the leader does its work again.
    const made = await one(PROJECTS, { key: admin, body: { metadata: { name: "healed" }, spec: {} } });
    expect(made.status, made.text).toBe(201);
    await expect
      .poll(async () => await everywhere("/api/v1/namespaces/p-healed", { key: admin }), WAIT)
      .toEqual(clients.map(() => 200));
    const lines = (await readFile(join(server.dataDir, "audit.log"), "utf8")).split("\n");
    const deletions = lines.filter(
      (line) => line.includes('"delete"') && line.includes(`"requestURI":"${KEYS}/second"`),
    );
    expect(deletions).toHaveLength(1);
    const rounded = (milliseconds: number): string => `${(milliseconds / 1_000).toFixed(1)} s`;
    process.stdout.write(
      `${which} ${how}: revocation answered after ${rounded(revocationMs)}, a creation and a revocation later in ${rounded(writesMs)}, all serve ${rounded(mendedMs)} after it is back\n`,
    );
  });
});
