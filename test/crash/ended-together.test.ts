// Threads that serve requests and cluster threads end at random: watches go on from the revision that they have seen without a gap, what was written
// stays and is read over every connection, keys with spec.maxUses are used no oftener, and the audit log has each answered request once.
// ENDS_SECONDS says for how long, TEST_SEED which threads end and when, as far as the scheduler allows.

import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "@postern/platform/testing/temporary-directory";
import { startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { describe, expect, it } from "vitest";
import { CONFIG_MAPS, INSTANCES, metric, POLL, pathOf } from "../attacks/testing/threads/clusters.ts";
import { NODE_WITH_THREADS, openConnections, WHY_NO_THREADS } from "../e2e/testing/front-threads.ts";
import {
  type Answer,
  adminKey,
  clientOfOneTry,
  type HttpClient,
  type HttpRequest,
  httpClient,
} from "../e2e/testing/http-client.ts";
import { ENDED_THREADS, startPostern } from "../e2e/testing/postern-process.ts";
import { type FollowedWatch, followWatch } from "./testing/followed-watch.ts";

const SECONDS = Number(process.env["ENDS_SECONDS"] ?? 20);
const seed = Number(process.env["TEST_SEED"]);
/** Threads that end in a minute. Those that serve requests are started again later and later. */
const ENDS = 20;
const THREADS = 5;
const SECRETS = "/api/v1/namespaces/p-default/secrets";
const KEYS = "/apis/management.postern/v1/ownedaccesskeys";
const SELVES = "/apis/management.postern/v1/selves";
const [WRITERS, WATCHES, LANES, USES] = [4, 6, 12, 15];
const FLAGS = [
  ...["--threads", String(THREADS), "--cluster-threads", "1"],
  ...["--failed-logins-per-minute", "0", "--connections-share-percent", "100", "--log-level", "info"],
  ...["--audit-log-mode", "blocking", "--audit-log-maxsize", "0"],
];

if (NODE_WITH_THREADS === undefined) process.stdout.write(`${WHY_NO_THREADS}\n`);

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

type Written = { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly name: string; readonly revision?: number };

describe.skipIf(NODE_WITH_THREADS === undefined).each(["sqlite", "etcd"] as const)("on %s", (store) => {
  it.skipIf(store === "etcd" && whyNoEtcd() !== undefined)(
    `nothing is lost, and nothing taken twice (TEST_SEED=${seed}, ENDS_SECONDS=${SECONDS})`,
    { timeout: 600_000 + SECONDS * 3_000 },
    async () => {
      await using etcd = store === "etcd" ? await startEtcd() : undefined;
      await using directory = await temporaryDirectory();
      const storeFlags =
        etcd === undefined
          ? ["--store", "sqlite"]
          : ["--store", `etcd://${etcd.endpoints[0]}`, "--etcd-new-installation", "--etcd-compaction", "always"];
      await using server = await startPostern(join(directory.path, "data"), [...storeFlags, ...FLAGS], {
        env: {
          NODE_OPTIONS: `--import=${ENDED_THREADS}`,
          ENDED_THREADS: "front-,shared-",
          ENDED_THREADS_PER_MINUTE: String(ENDS),
          POSTERN_THREADS: String(THREADS),
          TEST_SEED: String(seed),
        },
        node: NODE_WITH_THREADS ?? "",
      });
      const [fresh, key] = [await httpClient(server), await adminKey(server)];
      await untilAnswered(async () => {
        const made = await fresh(INSTANCES, { key, body: { metadata: { name: "demo" }, spec: { template: {} } } });
        return made.status === 201 || made.status === 409 ? made : undefined;
      });
      // Each request has an id of its own in the audit log: one that is sent again would be there twice.
      using connections = await openConnections(server, LANES, clientOfOneTry);
      /** By audit id: the request and its answer. */
      const answered = new Map<string, string>();
      const unanswered = new Set<string>();
      /** Undefined: no answer came, or one that says that the server does not know. */
      const ask = async (lane: number, path: string, options: HttpRequest = {}): Promise<Answer | undefined> => {
        const id = randomUUID();
        const client = connections.clients[lane % LANES] as HttpClient;
        const headers = { ...options.headers, "audit-id": id };
        const answer = await client(path, { key, ...options, headers }).catch(() => undefined);
        if (answer === undefined) unanswered.add(id);
        else answered.set(id, `${options.method ?? ""} ${path}: ${answer.status} ${answer.text.slice(0, 200)}`);
        if (answer === undefined || answer.status === 503 || answer.status === 504 || answer.status === 429) {
          await pause(20);
          return undefined;
        }
        return answer;
      };

      const ca = await readFile(server.caFile, "utf8");
      const paths = [SECRETS, pathOf("demo", CONFIG_MAPS)];
      const watched = await Promise.all(
        paths.map(async (path) => {
          const list = await untilAnswered(async () => {
            const answer = await ask(0, path);
            // A cluster that is being made is not there yet.
            return answer?.status === 200 ? answer : undefined;
          });
          const from = Number(list.body.metadata.resourceVersion);
          const watches = Array.from({ length: WATCHES }, () =>
            followWatch({ url: server.url, ca }, { path, key, from }),
          );
          return { path, watches, written: [] as Written[] };
        }),
      );
      const until = performance.now() + SECONDS * 1_000;
      const isOver = (): boolean => performance.now() > until;

      const write = async (path: string, lane: number, written: Written[]): Promise<void> => {
        // A machine with much else to do may have been too slow for any.
        for (let count = 0; !isOver() || written.length === 0; count++) {
          const name = `w-${lane}-${count}`;
          const data = path === SECRETS ? { stringData: { count: "1" } } : { data: { count: "1" } };
          const made = await ask(lane, path, { body: { metadata: { name }, ...data } });
          if (made === undefined) continue;
          expect(made.status, made.text).toBe(201);
          written.push({ type: "ADDED", name, revision: Number(made.body.metadata.resourceVersion) });
          const read = await ask(lane + 5, `${path}/${name}`);
          if (read !== undefined) expect(read.status, read.text).toBe(200);
          const body = { ...made.body, ...data, metadata: { name, labels: { changed: "true" } } };
          const changed = await ask(lane + 3, `${path}/${name}`, { method: "PUT", body });
          if (changed === undefined) continue;
          expect(changed.status, changed.text).toBe(200);
          written.push({ type: "MODIFIED", name, revision: Number(changed.body.metadata.resourceVersion) });
          if (count % 2 === 0) continue;
          const gone = await ask(lane + 7, `${path}/${name}`, { method: "DELETE" });
          if (gone === undefined) continue;
          expect(gone.status, gone.text).toBe(200);
          written.push({ type: "DELETED", name });
          const after = await ask(lane + 2, `${path}/${name}`);
          if (after !== undefined) expect(after.status, after.text).toBe(404);
        }
      };
      const uses: number[] = [];
      const use = async (): Promise<void> => {
        for (let count = 0; !isOver() || !uses.some((accepted) => accepted > 0); count++) {
          const spec = { type: "User", user: "admin", maxUses: USES };
          const made = await ask(count, KEYS, { body: { metadata: { name: `limited-${count}` }, spec } });
          if (made === undefined) continue;
          expect(made.status, made.text).toBe(201);
          let accepted = 0;
          const lane = async (number: number): Promise<void> => {
            for (let refused = 0; refused < 2 && (!isOver() || accepted === 0); ) {
              const body = { apiVersion: "management.postern/v1", kind: "Self" };
              const answer = await ask(number, SELVES, { key: made.body.spec.key, body });
              if (answer?.status === 201) accepted++;
              else if (answer !== undefined) {
                expect(answer.status, answer.text).toBe(401);
                refused++;
              }
            }
          };
          await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));
          uses.push(accepted);
        }
      };
      await Promise.all([
        ...watched.flatMap(({ path, written }) =>
          Array.from({ length: WRITERS }, (_, lane) => write(path, lane, written)),
        ),
        use(),
      ]);

      for (const { path, watches, written } of watched) {
        expect(written).not.toEqual([]);
        const body = { metadata: { name: "last" } };
        // A creation without an answer may have been done.
        const last = await untilAnswered(async () => {
          const made = await ask(0, path, { body });
          return made?.status === 409 ? await ask(0, `${path}/last`) : made;
        });
        const revision = Number(last.body.metadata.resourceVersion);
        await expect
          .poll(() => watches.every((watch) => watch.revision() >= revision), { ...POLL, timeout: 360_000 })
          .toBe(true);
        for (const watch of watches) watch[Symbol.dispose]();
        for (const watch of watches) expectWhole(watch, written);
        const [first, ...others] = watches.map(({ events }) => events);
        for (const other of others) expect(other).toEqual(first);
      }
      // Otherwise nothing was tried.
      expect(Math.max(...uses)).toBeGreaterThan(0);
      expect(Math.max(...uses)).toBeLessThanOrEqual(USES);
      const counts = await auditedIds(join(server.dataDir, "audit.log"));
      const countOf = (id: string): number => counts.get(id) ?? 0;
      const notOnce = [...answered].filter(([id]) => countOf(id) !== 1);
      expect(notOnce.map(([id, what]) => `recorded ${countOf(id)} times: ${what}`)).toEqual([]);
      expect([...unanswered].filter((id) => countOf(id) > 1)).toEqual([]);
      const ended = (name: string): Promise<number> => untilAnswered(() => metric(fresh, key, name, "crashed"));
      const [fronts, clusters] = [
        await ended("postern_front_restarts_total"),
        await ended("postern_thread_restarts_total"),
      ];
      process.stdout.write(
        `${JSON.stringify({
          fronts,
          clusters,
          writes: watched.map(({ written }) => written.length),
          opened: watched.map(({ watches }) => watches.reduce((sum, watch) => sum + watch.opened(), 0)),
          keys: uses.length,
          answered: answered.size,
          unanswered: unanswered.size,
        })}\n`,
      );
      expect(fronts).toBeGreaterThan(0);
    },
  );
});

/** Again, where no answer comes. */
async function untilAnswered<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const answer = await ask().catch(() => undefined);
    if (answer !== undefined) return answer;
    await pause(POLL.interval);
  }
}

function expectWhole({ events, gaps }: FollowedWatch, written: readonly Written[]): void {
  expect(gaps).toEqual([]);
  const revisions = events.map(({ revision }) => revision);
  expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
  const seen = new Set(
    events.flatMap(({ type, name, revision }) => [`${type} ${name}`, `${type} ${name} ${revision}`]),
  );
  const textOf = ({ type, name, revision }: Written): string =>
    revision === undefined ? `${type} ${name}` : `${type} ${name} ${revision}`;
  expect(written.map(textOf).filter((text) => !seen.has(text))).toEqual([]);
}

/** How often each request is recorded as answered. */
async function auditedIds(path: string): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const line of (await readFile(path, "utf8")).split("\n")) {
    if (line === "") continue;
    const { auditID, stage } = JSON.parse(line);
    if (stage === "ResponseComplete") counts.set(auditID, (counts.get(auditID) ?? 0) + 1);
  }
  return counts;
}
