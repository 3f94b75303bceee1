import { expect, it, vi } from "vitest";
import { createServerTable, publishServer, readServers } from "./server-table.ts";
import { createSqliteReplicas } from "./sqlite-replicas.ts";

/** A server whose cache shows what it is given. */
function server(table: SharedArrayBuffer, number: number, newest: () => number) {
  let shown = 0;
  let isRefused = false;
  const waiting = new Set<() => void>();
  const until = async (revision: number): Promise<void> => {
    while (shown < revision) {
      await new Promise<void>((resolve) => waiting.add(resolve));
      if (isRefused) throw new Error("the cache is closed");
    }
  };
  const show = (revision: number): void => {
    shown = revision;
    for (const wake of waiting) wake();
    waiting.clear();
  };
  const replicas = createSqliteReplicas({
    table,
    server: number,
    newest,
    revision: () => shown,
    waitFor: until,
    refresh: () => until(newest()),
    boundMs: 10_000,
  });
  return {
    replicas,
    show,
    refuse() {
      isRefused = true;
      show(shown);
    },
  };
}

const settled = async (promise: Promise<unknown>): Promise<boolean> =>
  await Promise.race([
    promise.then(() => true),
    new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 50)),
  ]);

it("one that has written waits until each of the others has in force what it has written", async () => {
  const table = createServerTable(3);
  let newest = 7;
  const [one, two, three] = [0, 1, 2].map((number) => server(table, number, () => newest));
  if (one === undefined || two === undefined || three === undefined) throw new Error("three servers");
  for (const each of [one, two, three]) each.show(7);
  await Promise.all([one, two, three].map(({ replicas }) => replicas.entered));
  expect(await one.replicas.count()).toBe(3);
  await one.replicas.allKnow();
  newest = 8;
  one.show(8);
  const known = one.replicas.allKnow();
  two.show(8);
  expect(await settled(known)).toBe(false);
  three.show(8);
  await known;
});

it("one that ends is waited for no longer, and one that starts is from when it admits clients", async () => {
  const table = createServerTable(2);
  let newest = 3;
  const one = server(table, 0, () => newest);
  one.show(3);
  await one.replicas.entered;
  const two = server(table, 1, () => newest);
  expect(two.replicas.isFresh()).toBe(false);
  // It shows nothing yet, and admits nobody.
  await one.replicas.allKnow();
  two.show(3);
  await two.replicas.entered;
  expect(two.replicas.isFresh()).toBe(true);
  newest = 4;
  one.show(4);
  const known = one.replicas.allKnow();
  expect(await settled(known)).toBe(false);
  const onStale = vi.fn();
  two.replicas.onStale(onStale);
  await two.replicas[Symbol.asyncDispose]();
  await known;
  expect(onStale).toHaveBeenCalledTimes(1);
  expect(two.replicas.isFresh()).toBe(false);
  expect([...readServers(table).keys()]).toEqual([0]);
});

it("what was written before a writer could see a server is in force there before it admits clients", async () => {
  const table = createServerTable(2);
  let newest = 3;
  const two = server(table, 1, () => newest);
  two.show(3);
  // Between the place in the table and the second look at the store.
  newest = 5;
  expect(await settled(two.replicas.entered)).toBe(false);
  expect(two.replicas.isFresh()).toBe(false);
  two.show(5);
  await two.replicas.entered;
});

it("a thread that was killed is taken out of the table from outside", async () => {
  const table = createServerTable(2);
  const one = server(table, 0, () => 5);
  one.show(5);
  await one.replicas.entered;
  publishServer(table, 1, 2);
  const known = one.replicas.allKnow();
  expect(await settled(known)).toBe(false);
  publishServer(table, 1, 0);
  await known;
});

it("one whose cache fails stays where it was", async () => {
  const table = createServerTable(2);
  let newest = 2;
  const [one, two] = [server(table, 0, () => newest), server(table, 1, () => newest)];
  one.show(2);
  two.show(2);
  await Promise.all([one.replicas.entered, two.replicas.entered]);
  newest = 3;
  one.show(3);
  two.refuse();
  const known = one.replicas.allKnow();
  expect(await settled(known)).toBe(false);
  two.show(3);
  await known;
});
