import type { ObservedRequest } from "@postern/apiserver/chain/request-observer";
import { expect, it } from "vitest";
import { createServerActivity, type ServerActivity } from "./server-activity.ts";

const MINUTE_MS = 60_000;
const START = 10_000 * MINUTE_MS;

/** A request of a key: as much of it as is looked at. */
const request = (id: string, { isWatch = false, name = "" } = {}): ObservedRequest =>
  ({
    credential: { id },
    info: {
      ...{ path: "/x", verb: isWatch ? "watch" : "create", isResourceRequest: name !== "" },
      ...{ apiGroup: "", resource: "secrets", subresource: "", namespace: "default", name },
    },
    request: { query: new URLSearchParams() },
    user: { name: "jane", groups: [] },
    isLongRunning: isWatch,
  }) as unknown as ObservedRequest;

function setUp() {
  let now = START;
  const clock = { now: () => now };
  const [first, further] = [createServerActivity(clock), createServerActivity(clock)];
  const handOver = (thread = 1) => first.add(further.take(), thread);
  const pass = (milliseconds: number): void => {
    now += milliseconds;
  };
  const requests = ({ from, counts }: ReturnType<ServerActivity["read"]>) => [
    (from - START) / MINUTE_MS,
    ...counts.requests,
  ];
  return { first, further, handOver, requests, pass };
}

it("has what another thread counted, minute by minute, once each, also when that has ended", () => {
  const { first, further, handOver, requests, pass } = setUp();
  first.observer.answered(request("own"), 200);
  further.observer.answered(request("busy"), 200);
  pass(MINUTE_MS);
  for (let times = 0; times < 3; times++) further.observer.answered(request("busy"), times === 0 ? 403 : 500);
  handOver();
  handOver();
  further.observer.answered(request("busy"), 200);
  handOver();
  first.end(1);
  const all = first.read();
  expect(requests(all)).toEqual([0, 2, 4]);
  expect([all.counts.refused, all.counts.failed]).toEqual([
    [0, 1],
    [0, 2],
  ]);
  expect(all.used).toEqual([
    { id: "busy", count: 5 },
    { id: "own", count: 1 },
  ]);
  expect(all.refused).toEqual([{ id: "busy", count: 1 }]);
  expect(further.read().used).toEqual([]);
});

it("has the changes of both, the newest first", () => {
  const { first, further, handOver, pass } = setUp();
  const change = (of: ServerActivity, name: string): void => {
    of.observer.answered(request("key", { name }), 201);
    pass(1);
  };
  change(further, "first");
  change(first, "second");
  change(further, "third");
  change(first, "fourth");
  handOver();
  change(first, "fifth");
  expect(first.read().changes.map(({ name }) => name)).toEqual(["fifth", "fourth", "third", "second", "first"]);
});

it("knows the most watches that were open at once, and forgets those of a thread that has ended", () => {
  const { first, further, handOver, pass } = setUp();
  const watch = request("key", { isWatch: true });
  first.observer.answered(watch, 200);
  for (let times = 0; times < 3; times++) further.observer.answered(watch, 200);
  further.observer.closed(watch, 200);
  handOver();
  expect([first.read().openWatches, first.read().counts.watches]).toEqual([3, [4]]);
  pass(MINUTE_MS);
  handOver();
  expect(first.read().counts.watches).toEqual([4, 3]);
  first.end(1);
  pass(MINUTE_MS);
  first.observer.answered(request("key"), 200);
  expect([first.read().openWatches, first.read().counts.watches]).toEqual([1, [4, 3, 1]]);
});
