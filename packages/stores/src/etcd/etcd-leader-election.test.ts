import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EtcdConnection } from "./etcd-connection.ts";
import { createEtcdLeaderElection } from "./etcd-leader-election.ts";
import { EtcdLease } from "./etcd-lease.ts";
import { type EtcdStorage, openEtcdStorage } from "./etcd-storage.ts";
import { type Scheduler, systemScheduler } from "./etcd-timers.ts";
import { type EtcdCluster, startEtcd, whyNoEtcd } from "./testing/start-etcd.ts";
import { startRelay } from "./testing/start-relay.ts";

type Way = Awaited<ReturnType<typeof startRelay>>;

/** No timer of this scheduler ends anything by itself. */
function timersByHand() {
  const tasks: (() => void)[] = [];
  let planned = (_delayMs: number): void => {};
  const scheduler: Scheduler = {
    schedule(delayMs, task) {
      tasks.push(task);
      planned(delayMs);
      return { [Symbol.dispose]: () => {} };
    },
  };
  return {
    scheduler,
    /** Runs the task that was planned last: of a lease, its next renewal. */
    runLast: () => tasks.at(-1)!(),
    onPlanned(listener: (delayMs: number) => void) {
      planned = listener;
    },
  };
}

describe.skipIf(whyNoEtcd() !== undefined)("leader election on etcd", () => {
  let etcd: EtcdCluster;
  let one: EtcdStorage;
  let two: EtcdStorage;
  beforeAll(async () => {
    etcd = await startEtcd();
    one = await openEtcdStorage({ endpoints: etcd.endpoints });
    two = await openEtcdStorage({ endpoints: etcd.endpoints });
  });
  afterAll(async () => {
    await one[Symbol.asyncDispose]();
    await two[Symbol.asyncDispose]();
    await etcd[Symbol.asyncDispose]();
  });
  const never = new AbortController().signal;
  const aborted = (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve());
    });

  /** A lease of so many seconds, never renewed: its end is an event to wait for. */
  const leaseRunsOut = async (seconds: number): Promise<void> => {
    const { connection, keys } = two;
    const [ID, name] = [seconds + 70, `clock of ${seconds} s`];
    await connection.call(connection.methods.leaseGrant, { ID, TTL: seconds }, { repeatable: false });
    await connection.call(
      connection.methods.txn,
      { compare: [], success: [{ request_put: { key: keys.leader(name), lease: ID } }] },
      { repeatable: false },
    );
    const next = await createEtcdLeaderElection({ storage: two }).campaign(name, "two", never);
    await next[Symbol.asyncDispose]();
  };

  test("one of two campaigners wins, and the other one only once it resigns", async () => {
    const [first, second] = [one, two].map((storage) => createEtcdLeaderElection({ storage, ttlSeconds: 30 }));
    const leadership = await first!.campaign("controllers", "one", never);
    let secondWon = false;
    const waiting = second!.campaign("controllers", "two", never).then((won) => {
      secondWon = true;
      return won;
    });
    expect(await second!.leader("controllers")).toBe("one");
    expect(secondWon).toBe(false);
    await leadership[Symbol.asyncDispose]();
    expect(leadership.signal.aborted).toBe(true);
    await using next = await waiting;
    expect(next.signal.aborted).toBe(false);
    expect(await first!.leader("controllers")).toBe("two");
  });

  test("elections of different names do not touch each other, nor the keys of the store", async () => {
    const election = createEtcdLeaderElection({ storage: one });
    await using _a = await election.campaign("a", "one", never);
    await using _b = await election.campaign("b", "one", never);
    expect((await one.list("/")).entries).toEqual([]);
    expect(await election.leader("c")).toBeUndefined();
  });

  test("a campaign that is aborted rejects with the reason, and leaves nothing behind", async () => {
    const election = createEtcdLeaderElection({ storage: one });
    const leadership = await election.campaign("aborted", "one", never);
    const abort = new AbortController();
    // It waits for the leader to go, and no timer wakes it.
    const timers = timersByHand();
    const waits = new Promise<void>((resolve) => timers.onPlanned(() => resolve()));
    const { scheduler } = timers;
    const waiting = createEtcdLeaderElection({ storage: two, scheduler }).campaign("aborted", "two", abort.signal);
    await waits;
    const reason = new Error("the server stops");
    abort.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await leadership[Symbol.asyncDispose]();
    expect(await election.leader("aborted")).toBeUndefined();
  });

  test("a campaign that is aborted on its way to being won rejects all the same, and another one wins", async () => {
    const abort = new AbortController();
    const reason = new Error("the server stops");
    const winning = createEtcdLeaderElection({ storage: one }).campaign("late", "one", abort.signal);
    abort.abort(reason);
    await expect(winning).rejects.toBe(reason);
    await using next = await createEtcdLeaderElection({ storage: two }).campaign("late", "two", never);
    expect(next.signal.aborted).toBe(false);
  });

  test("a disconnected leader stops before its lease expires, and another one follows", async () => {
    await using lonely = await openEtcdStorage({ endpoints: etcd.endpoints });
    const leadership = await createEtcdLeaderElection({ storage: lonely, ttlSeconds: 2 }).campaign(
      "cut",
      "lonely",
      never,
    );
    const waiting = createEtcdLeaderElection({ storage: two, ttlSeconds: 2 }).campaign("cut", "two", never);
    lonely.connection[Symbol.dispose]();
    const order: string[] = [];
    await Promise.all([
      aborted(leadership.signal).then(() => order.push("the old one stopped")),
      waiting.then((next) => {
        order.push("the new one began");
        return next[Symbol.asyncDispose]();
      }),
    ]);
    expect(order).toEqual(["the old one stopped", "the new one began"]);
  });

  test("a lease that etcd has lost ends for its holder, too", async () => {
    const { connection } = one;
    const lease = await EtcdLease.grant({ connection, scheduler: systemScheduler, ttlSeconds: 2 });
    await two.connection.call(two.connection.methods.leaseRevoke, { ID: lease.id }, { repeatable: true });
    await leaseRunsOut(4);
    expect(lease.signal.aborted).toBe(true);
  });

  test("a lease is counted from the question, however late the answer to it comes", async () => {
    using way = await startRelay(etcd.endpoints[0]!);
    await using far = await openEtcdStorage({ endpoints: [way.endpoint] });
    const { connection } = far;
    const ttlSeconds = 1;
    const timers = timersByHand();
    const renewed = await EtcdLease.grant({ connection, scheduler: timers.scheduler, ttlSeconds });
    way.holdAnswers();
    timers.runLast();
    const answered = new Promise<void>((resolve) => {
      timers.onPlanned(() => resolve());
      renewed.signal.addEventListener("abort", () => resolve());
    });
    const granting = EtcdLease.grant({ connection, scheduler: systemScheduler, ttlSeconds });
    await new Promise((resolve) => setTimeout(resolve, ttlSeconds * 1_000));
    way.releaseAnswers();
    await answered;
    expect(renewed.isHeld()).toBe(false);
    const granted = await granting;
    expect(granted.isHeld()).toBe(false);
    for (const lease of [renewed, granted]) await lease[Symbol.asyncDispose]();
  });

  test.each([
    ["has gone", (way: Way) => way.break()],
    ["says nothing", (way: Way) => way.holdAnswers()],
  ])("a lease is renewed at another endpoint when the one in use %s", async (how, fail) => {
    using first = await startRelay(etcd.endpoints[0]!);
    using other = await startRelay(etcd.endpoints[0]!);
    const endpoints = [first.endpoint, other.endpoint];
    using connection = new EtcdConnection({ endpoints, requestTimeoutMs: 5_000, scheduler: systemScheduler });
    const timers = timersByHand();
    const ttlSeconds = 600;
    const lease = await EtcdLease.grant({ connection, scheduler: timers.scheduler, ttlSeconds });
    fail(first);
    const answered = new Promise<void>((resolve) => {
      // The end is planned anew with each answer, and is further off than the next renewal.
      timers.onPlanned((delayMs) => delayMs > ttlSeconds * 500 && resolve());
    });
    timers.runLast();
    if (how === "has gone") await expect.poll(() => connection.endpoint.address).toBe(other.endpoint);
    timers.runLast();
    expect(connection.endpoint.address).toBe(other.endpoint);
    await answered;
    await lease[Symbol.asyncDispose]();
  });

  test("one of many concurrent candidates wins, and the others leave no lease behind", async () => {
    const abort = new AbortController();
    const campaigns = Array.from({ length: 10 }, (_, at) =>
      createEtcdLeaderElection({ storage: at % 2 === 0 ? one : two }).campaign("many", `${at}`, abort.signal),
    );
    await Promise.race(campaigns);
    // As many steps as the others need to win, too.
    const passing = await createEtcdLeaderElection({ storage: two }).campaign("passing", "two", never);
    await passing[Symbol.asyncDispose]();
    abort.abort();
    const outcomes = await Promise.allSettled(campaigns);
    const won = outcomes.filter((outcome) => outcome.status === "fulfilled");
    expect(won).toHaveLength(1);
    const listed = await fetch(`http://${etcd.endpoints[0]}/v3/lease/leases`, { method: "POST", body: "{}" });
    expect(await listed.json()).toMatchObject({ leases: [{}] });
    for (const { value } of won) await value[Symbol.asyncDispose]();
  });

  test("a leader stays leader for longer than its lease", async () => {
    const election = createEtcdLeaderElection({ storage: one, ttlSeconds: 4 });
    await using leadership = await election.campaign("stays", "one", never);
    await leaseRunsOut(8);
    expect(leadership.signal.aborted).toBe(false);
    expect(await election.leader("stays")).toBe("one");
  });
});
