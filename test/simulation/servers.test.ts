// Several servers of the product on one store, over a network that delays, loses and cuts off, for hours of virtual time: servers crash,
// stand still and have their clocks set by hours, and history is forgotten, while clients make, use, rotate and revoke keys, list them
// and watch them. No acknowledged write is lost, no key is accepted once its revocation was confirmed longer than the bound ago, none
// that is good is refused, lists are the state at their revision, watches have no gap, duplicate or step back in time, and what only a
// leader may do is done by one server at a time.
// Each hour begins with some minutes in which much happens; the rest is calm.
// SIMULATION_SERVER_HOURS says for how long (the nightly run takes a thousand), TEST_SEED repeats a run exactly.

import { createHash } from "node:crypto";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { expect, test } from "vitest";
import { KEY_PREFIX, KeyClients, textOf, useOf } from "./testing/key-clients.ts";
import { LeaseTable } from "./testing/simulated-election.ts";
import { ROOT_TOKEN, type SimulatedRequest, SimulatedServer } from "./testing/simulated-server.ts";
import { TrueHistory } from "./testing/true-history.ts";
import { VirtualTime } from "./testing/virtual-time.ts";
import { WatchingClient } from "./testing/watching-client.ts";

const HOURS = Number(process.env["SIMULATION_SERVER_HOURS"] ?? 6);
const seed = Number(process.env["TEST_SEED"]);
const HOUR_MS = 3_600_000;
const TIMEOUT_MS = 300_000 + HOURS * 60_000;

/** Every hour begins with minutes in which much happens. */
const BUSY_MS = HOUR_MS / 12;
/** In the rest of it, so many times less: servers that wait find other faults, and cost little. */
const CALM = 15;

/** Far fewer than are expected: without as many, nothing that could fail has been tried. */
const LEAST_PER_HOUR = {
  created: 6,
  rotated: 2,
  disabled: 2,
  deleted: 2,
  cleanedUp: 0.2,
  accepted: 10,
  refused: 40,
  unanswered: 0.1,
  unavailable: 0.1,
  lists: 4,
  lateAccepts: 0.1,
  received: 80,
  acts: 30,
  crash: 0.1,
  standstill: 0.1,
  cut: 0.1,
  brokenWatches: 0.1,
  clock: 0.1,
  forgottenHistory: 0.1,
};
/** Fewer hours may go without one of them. */
const FULL_HOURS = 6;

const FAULTS = ["crash", "standstill", "cut", "brokenWatches", "clock", "forgottenHistory"] as const;

async function simulate(hours: number, runSeed: number) {
  const next = randomNumbers(runSeed);
  const world = new VirtualTime();
  const store = createMemoryStorage();
  const history = new TrueHistory(store);
  const leases = new LeaseTable(world);
  const network = { next, lossRate: 100, maxDelayMs: 400 };
  const trace = createHash("sha256");
  const tell = (line: string): void => void trace.update(`${line}\n`);
  const failures: unknown[] = [];
  const fail = (error: unknown): void => void failures.push(error);
  let acts = 0;
  const faults = { crash: 0, standstill: 0, cut: 0, brokenWatches: 0, clock: 0, forgottenHistory: 0 };
  const servers = ["a", "b", "c"].map(
    (name) =>
      new SimulatedServer({
        name,
        world,
        network,
        store,
        leases,
        random: { bytes: (length) => Uint8Array.from({ length }, () => next(256)) },
        onAct(lease) {
          acts++;
          const { holder } = leases;
          if (holder !== undefined && holder !== lease) fail(new Error(`${lease} acts while ${holder} leads`));
        },
        onError: fail,
      }),
  );
  const anyServer = (): SimulatedServer => servers[next(servers.length)] as SimulatedServer;
  const clients = new KeyClients({ world, next, history, chooseServer: anyServer, trace: tell, onError: fail });
  const watches = Array.from(
    { length: 4 },
    () => new WatchingClient({ world, next, history, chooseServer: anyServer, prefix: KEY_PREFIX, onError: fail }),
  );

  await world.runUntil(10_000);
  const jane = { metadata: { name: "jane" }, spec: {} };
  let isMade = false;
  for (let attempt = 0; attempt < 20 && !isMade; attempt++) {
    const sending = servers[0]
      ?.send({ method: "POST", url: "/apis/management.postern/v1/users", token: ROOT_TOKEN, body: jane })
      .catch(() => undefined);
    await world.runUntil(world.now() + 10_000);
    const status = (await sending)?.response.status;
    isMade = status === 201 || status === 409;
  }
  expect(isMade).toBe(true);

  let over = false;
  const repeat = (meanMs: number, act: () => Promise<void> | void): void => {
    if (over) return;
    const intoHour = world.now() % HOUR_MS;
    const soon = 1 + next(2 * meanMs);
    // Calm periods end with the hour.
    const delay = intoHour < BUSY_MS ? soon : Math.min(soon * CALM, HOUR_MS - intoHour + soon);
    world.schedule(delay, () => {
      void Promise.resolve()
        .then(act)
        .catch(fail)
        .finally(() => repeat(meanMs, act));
    });
  };
  // Each kind comes once before any comes again.
  let coming: (typeof FAULTS)[number][] = [];
  const fault = async (): Promise<void> => {
    if (coming.length === 0) coming = [...FAULTS];
    const [kind = "crash"] = coming.splice(next(coming.length), 1);
    faults[kind]++;
    const server = anyServer();
    const { time, storage } = server;
    switch (kind) {
      case "crash": {
        // In the middle of a change: before it gets to the store, or about when it does.
        const change = clients.change(server);
        await world.pause(faults.crash % 2 === 0 ? 0 : next(network.maxDelayMs));
        server.crash();
        return change;
      }
      case "standstill":
        time.stop();
        await world.pause(next(60_000));
        return time.resume();
      case "cut":
        storage.cutOff();
        await world.pause(next(60_000));
        return storage.reconnect();
      case "brokenWatches":
        return storage.breakWatches();
      case "clock":
        return time.setClock((next(21) - 10) * HOUR_MS);
      case "forgottenHistory":
        return store.compact(history.revision - Math.min(history.revision - 1, next(200)));
    }
  };
  for (let client = 0; client < 3; client++) repeat(20_000, () => clients.change());
  for (let client = 0; client < 4; client++) repeat(20_000, () => clients.use());
  repeat(30_000, () => clients.list());
  repeat(120_000, fault);
  const end = world.now() + hours * HOUR_MS;
  await world.runUntil(end);

  // Once the faults end, everything is as it was promised.
  over = true;
  network.lossRate = 0;
  for (const { time, storage } of servers) {
    time.resume();
    storage.reconnect();
  }
  await world.runUntil(end + HOUR_MS / 6);
  const stored = (await store.list(KEY_PREFIX)).entries.map(({ key }) => key.slice(KEY_PREFIX.length));
  for (const name of clients.goodNames) if (!stored.includes(name)) fail(new Error(`${name} is lost`));
  for (const name of stored) if (!clients.mayExist(name)) fail(new Error(`${name} has come back`));
  const newest = history.between(0, history.revision, KEY_PREFIX).at(-1)?.revision ?? 0;
  for (const watch of watches) {
    watch.leave();
    if (watch.known < newest) fail(new Error(`a watch ends at ${watch.known}, the store at ${newest}`));
  }
  const lastUses = clients.expectReplacedValuesRefused().catch(fail);
  await world.runUntil(world.now() + 60_000);
  await lastUses;
  for (const server of servers) server.end();
  tell(String(history.revision));
  const received = watches.reduce((sum, watch) => sum + watch.received, 0);
  return { failures, counts: { ...clients.counts, acts, received, ...faults }, trace: trace.digest("hex") };
}

test(
  `servers keep their guarantees through all failures (TEST_SEED=${seed}, SIMULATION_SERVER_HOURS=${HOURS})`,
  async () => {
    const { failures, counts } = await simulate(HOURS, seed);
    process.stdout.write(`${JSON.stringify(counts)}\n`);
    expect(failures).toEqual([]);
    if (HOURS < FULL_HOURS) return;
    const lacking = Object.entries(LEAST_PER_HOUR).filter(
      ([what, least]) => !((counts[what as keyof typeof counts] ?? 0) > least * HOURS),
    );
    expect(lacking).toEqual([]);
  },
  TIMEOUT_MS,
);

test(`a seed is run the same way twice (TEST_SEED=${seed})`, async () => {
  const [first, second, other] = [await simulate(0.1, seed), await simulate(0.1, seed), await simulate(0.1, seed + 1)];
  expect(second).toEqual(first);
  expect(other.trace).not.toBe(first.trace);
}, 300_000);

test("an old value that reaches a suspended server after its rotation locks its key", async () => {
  const world = new VirtualTime();
  const store = createMemoryStorage();
  const leases = new LeaseTable(world);
  const next = randomNumbers(seed);
  const failures: unknown[] = [];
  const [still, running] = ["a", "b"].map(
    (name) =>
      new SimulatedServer({
        name,
        world,
        network: { next, lossRate: 0, maxDelayMs: 400 },
        store,
        leases,
        random: { bytes: (length) => Uint8Array.from({ length }, () => next(256)) },
        onAct: () => undefined,
        onError: (error) => void failures.push(error),
      }),
  ) as [SimulatedServer, SimulatedServer];
  const waitFor = async <Result>(result: Promise<Result>): Promise<Result> => {
    await world.runUntil(world.now() + 5_000);
    return result;
  };
  const ask = async (server: SimulatedServer, request: SimulatedRequest) => {
    const { response } = await waitFor(server.send(request));
    return { status: response.status, body: JSON.parse(await textOf(response)) };
  };
  await world.runUntil(10_000);
  const keys = "/apis/management.postern/v1/ownedaccesskeys";
  const jane = { metadata: { name: "jane" }, spec: {} };
  expect(
    await ask(running, { method: "POST", url: "/apis/management.postern/v1/users", token: ROOT_TOKEN, body: jane }),
  ).toMatchObject({
    status: 201,
  });
  const body = { metadata: { name: "k" }, spec: { user: "jane" } };
  const created = await ask(running, { method: "POST", url: keys, token: ROOT_TOKEN, body });
  const old = created.body.spec.key;

  still.time.stop();
  const late = still.send(useOf(old));
  const rotation = { method: "POST", url: `${keys}/k/rotate`, token: ROOT_TOKEN, body: { spec: { nonce: "n" } } };
  const { key } = (await ask(running, rotation)).body.status;
  expect(await ask(running, useOf(key))).toMatchObject({ status: 403 });
  still.time.resume();
  expect((await waitFor(late)).response.status).toBeGreaterThanOrEqual(401);
  await world.runUntil(world.now() + 60_000);
  for (const server of [still, running]) expect(await ask(server, useOf(key))).toMatchObject({ status: 401 });
  for (const server of [still, running]) server.end();
  expect(failures).toEqual([]);
});
