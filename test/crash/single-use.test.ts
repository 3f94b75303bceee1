// Clients of both servers use everything that is good once at the same moment, while threads of both end, and in some rounds while one of them is killed: no use more is accepted than
// there are. SINGLE_USE_ROUNDS says how many rounds, TEST_SEED which threads end and when, as far as the scheduler allows.

import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { serveIssuer } from "@postern/platform/foundation/issuers/testing/serve-issuer";
import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { describe, expect, it } from "vitest";
import { AUDIENCE } from "../attacks/testing/exchanging.ts";
import { browserOf, provideSignIn } from "../attacks/testing/signing-in.ts";
import { NODE_WITH_THREADS, WHY_NO_THREADS } from "../e2e/testing/front-threads.ts";
import { agentClient } from "../e2e/testing/http-client.ts";
import { ENDED_THREADS } from "../e2e/testing/postern-process.ts";
import { singleUseAgent } from "../e2e/testing/single-use-agent.ts";
import { startTwoOnEtcd } from "../e2e/testing/two-on-etcd.ts";
import { startServerProcess } from "./testing/server-process.ts";
import { type Asked, CLIENT, SINGLE_USE_KINDS, type SingleUse } from "./testing/single-use-kinds.ts";

const ROUNDS = Number(process.env["SINGLE_USE_ROUNDS"] ?? 12);
const seed = Number(process.env["TEST_SEED"]);
const API = "/apis/management.postern/v1";
/** So many clients use one thing at the same moment, on each server. */
const CLIENTS = 4;
/** A round is over in about this time, and something ends in the middle of it. */
const MOMENTS_MS = 300;
/** Threads that end again and again are started again later and later. */
const PAUSE_MS = 2_000;
const FLAGS = [
  ...["--threads", "4", "--cluster-threads", "0", "--proxy-allowed-addresses", "127.0.0.1/32"],
  ...["--failed-logins-per-minute", "0", "--connections-share-percent", "100"],
];

if (NODE_WITH_THREADS === undefined) process.stdout.write(`${WHY_NO_THREADS}\n`);

/** Again, until it succeeds: its connection may have ended with a thread. */
async function insist<T>(work: () => Promise<T>): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await work();
    } catch (error) {
      if (failures === 200) throw error;
      await pause(100);
    }
  }
}

describe.skipIf(NODE_WITH_THREADS === undefined || whyNoEtcd() !== undefined)("two servers on one etcd", () => {
  it(`accept nothing oftener than it is good, whatever ends (TEST_SEED=${seed}, SINGLE_USE_ROUNDS=${ROUNDS})`, {
    timeout: 600_000 + ROUNDS * 30_000,
  }, async () => {
    await using issuer = await serveIssuer();
    await using two = await startTwoOnEtcd(
      (dataDir, flags) =>
        startServerProcess(dataDir, flags, {
          env: { NODE_OPTIONS: `--import=${ENDED_THREADS}`, ENDED_THREADS: "front-" },
          node: NODE_WITH_THREADS ?? "",
        }),
      FLAGS,
    );
    const { servers } = two;
    const clients = await Promise.all(
      servers.map(async ({ url, caFile }) => {
        const ca = await readFile(caFile);
        return { send: agentClient(url, singleUseAgent(ca)), browse: browserOf(url, ca) };
      }),
    );
    const [near, far] = clients;
    if (near === undefined || far === undefined) throw new Error("there are two servers");
    const claimsOf = new Map<string, object>();
    const adminKey = servers[0].adminKey ?? "";
    const created = async (path: string, name: string, spec: object): Promise<any> => {
      const made = await near.send(`${API}/${path}`, { key: adminKey, body: { metadata: { name }, spec } });
      expect(made.status, made.text).toBe(201);
      const known = async (): Promise<number> => (await far.send(`${API}/${path}/${name}`, { key: adminKey })).status;
      await expect.poll(known).toBe(200);
      return made.body;
    };
    const asked: Asked = {
      urls: [servers[0].url, servers[1].url],
      send: (server, ...request) => (server === 0 ? near : far).send(...request),
      browse: (server, ...request) => (server === 0 ? near : far).browse(...request),
      adminKey,
      directoryKey: (
        await created("ownedaccesskeys", "directory", { user: "admin", scope: { roles: [{ role: "scim" }] } })
      ).spec.key,
      issuer,
      claimsOf,
    };
    provideSignIn(issuer, (code) => issuer.sign(claimsOf.get(code) ?? {}));
    const issued = { url: issuer.url, certificateAuthority: issuer.certificateAuthorityPem };
    await created("users", "bot", { kind: "Bot" });
    await created("clustertrustrules", "once", { issuer: issued, audiences: [AUDIENCE], user: "bot", singleUse: true });
    const claimMappings = { username: { claim: "name_here" } };
    await created("identityproviders", "good", { issuer: issued, clientId: CLIENT, claimMappings, createUsers: true });

    const next = randomNumbers(seed);
    const tally = new Map(SINGLE_USE_KINDS.map(({ what }) => [what, { made: 0, used: 0, unused: 0, unanswered: 0 }]));
    const tooOften: string[] = [];
    /** By user: what made a key for it. */
    const usersOf = new Map<string, string>();
    let killed = 0;

    /** All clients of both servers at once. An unanswered request is sent again: another one may be the first then. */
    async function useAll(what: string, round: number, thing: SingleUse): Promise<void> {
      const counts = tally.get(what);
      if (counts === undefined) throw new Error(what);
      const used: [number, number] = [0, 0];
      const use = async (server: 0 | 1): Promise<void> => {
        for (;;) {
          const isUsed = await thing.use(server).catch(() => undefined);
          if (isUsed === true) used[server]++;
          if (isUsed !== undefined) return;
          counts.unanswered++;
          await pause(50);
        }
      };
      await Promise.all(([0, 1] as const).flatMap((server) => Array.from({ length: CLIENTS }, () => use(server))));
      const all = used[0] + used[1];
      counts.made++;
      counts.used += all;
      if (all === 0) counts.unused++;
      const most = thing.isForEach === true ? Math.max(...used) : all;
      for (const user of thing.users ?? []) usersOf.set(user, what);
      if (most > thing.uses) tooOften.push(`${what}, round ${round}: ${used.join(" and ")} times`);
    }

    for (let round = 0; round < ROUNDS; round++) {
      const things = await Promise.all(
        SINGLE_USE_KINDS.map(async ({ what, make }, at) => {
          let tries = 0;
          return { what, thing: await insist(() => make(asked, `s${round}-${at}-${tries++}`)) };
        }),
      );
      const uses = Promise.all(things.map(({ what, thing }) => useAll(what, round, thing)));
      const isKilled = round % 4 === 3;
      const [one, other] = next(2) === 0 ? servers : servers.toReversed();
      await pause(next(MOMENTS_MS));
      one?.endThread();
      await pause(next(MOMENTS_MS));
      if (isKilled) {
        killed++;
        await other?.kill();
        await other?.restart();
      } else other?.endThread();
      await uses;
      await pause(PAUSE_MS);
    }
    const keys = await insist(() => near.send(`${API}/ownedaccesskeys`, { key: adminKey }));
    const makers = keys.body.items.flatMap(({ spec }: any) =>
      usersOf.get(spec.user) === undefined ? [] : [spec.user],
    );
    const ended = servers.reduce(
      (sum, { output }) => sum + (output().match(/a front ended, and is started again/g)?.length ?? 0),
      0,
    );
    const rows = [...tally].map(([what, counts]) => `${what}: ${JSON.stringify(counts)}`);
    process.stdout.write(`${killed} servers killed, ${ended} threads ended\n${rows.join("\n")}\n`);
    expect(tooOften).toEqual([]);
    expect(makers.length).toBeGreaterThan(0);
    expect(makers.toSorted()).toEqual([...new Set(makers)].toSorted());
    // Otherwise nothing was tried.
    for (const [what, { used }] of tally) expect(used, what).toBeGreaterThan(0);
  });
});
