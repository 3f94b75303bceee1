import { silentLogger } from "@postern/apiserver/logging/logger";
import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { expect, it } from "vitest";
import { LOOK_MS, movesOf } from "./front-demand.ts";
import type { FrontPlace } from "./front-place.ts";
import { FrontScale } from "./front-scale.ts";

const settle = () => new Promise(setImmediate);

/** A place whose thread serves, fails or exits when a test says so. */
function fakePlace() {
  const moved: number[] = [];
  const place = {
    state: "empty",
    told: [] as string[],
    moved,
    sums: { busyMs: 0, connections: 0 },
    thread: undefined as unknown,
    serve: () => {},
    fail: () => {},
    get isServing() {
      return place.state === "serving";
    },
    get isStarting() {
      return place.state === "starting";
    },
    get isEmpty() {
      return place.state === "empty";
    },
    start() {
      place.state = "starting";
      return new Promise<void>((resolve, reject) => {
        place.serve = () => {
          place.state = "serving";
          place.thread = {
            get sums() {
              return place.sums;
            },
            link: { note: (_name: string, count: number) => void moved.push(count) },
          };
          resolve();
        };
        place.fail = () => {
          place.state = "empty";
          reject(new Error("no memory"));
        };
      });
    },
    async retire() {
      place.told.push("retire");
      place.state = "ending";
    },
    async close() {
      place.told.push("close");
      place.state = "ending";
    },
  };
  return place;
}

function setUp({ hasRoom = true } = {}) {
  const time = manualTime();
  const places = [fakePlace(), fakePlace()];
  const counts: number[] = [];
  const first = { busyMs: 0, connections: 40, moved: [] as number[] };
  const memory = { isShort: false };
  const warnings: string[] = [];
  const scale = new FrontScale({
    // As far as it is asked.
    places: places as unknown as readonly FrontPlace[],
    departures: {
      get staying() {
        return first.connections;
      },
      move: (count) => void first.moved.push(count),
    },
    busyMs: () => first.busyMs,
    setFronts: (count) => void counts.push(count),
    isMemoryShort: () => memory.isShort,
    hasRoom: () => hasRoom,
    logger: { ...silentLogger, warn: (_fields: object, text: string) => void warnings.push(text) },
    ...time,
  });
  /** Seconds in which the first, and each further one that serves, are busy for such a part. */
  const pass = async (seconds: number, busy: number): Promise<void> => {
    for (let second = 0; second < seconds; second++) {
      first.busyMs += busy * LOOK_MS;
      for (const place of places) place.sums = { ...place.sums, busyMs: place.sums.busyMs + busy * LOOK_MS };
      await settle();
      time.advance(LOOK_MS);
    }
    await settle();
  };
  return { scale, places, counts, first, memory, warnings, pass, time };
}

it("begins another after ten busy seconds in a row, and not while one is starting", async () => {
  const { places, counts, pass } = setUp();
  await pass(9, 0.9);
  await pass(1, 0.6);
  await pass(9, 0.9);
  expect(places[0]?.state).toBe("empty");
  await pass(1, 0.9);
  expect(places.map(({ state }) => state)).toEqual(["starting", "empty"]);
  // It has its part of the limits before it serves.
  expect(counts).toEqual([2]);
  await pass(30, 0.9);
  expect(places[1]?.state).toBe("empty");
  places[0]?.serve();
  // Its first look knows nothing of its load.
  await pass(11, 0.9);
  expect(places.map(({ state }) => state)).toEqual(["serving", "starting"]);
  expect(counts.at(-1)).toBe(3);
});

it("ends the last after five minutes in which the others would do, and its part of the limits goes on until it is gone", async () => {
  const { scale, places, counts, pass } = setUp();
  await pass(10, 0.9);
  places[0]?.serve();
  await pass(299, 0.1);
  expect(places[0]?.told).toEqual([]);
  await pass(1, 0.1);
  expect(places[0]?.told).toEqual(["retire"]);
  expect(counts).toEqual([2]);
  if (places[0] !== undefined) places[0].state = "empty";
  scale.count();
  expect(counts).toEqual([2, 1]);
});

it("ends further ones at once while memory is short, and begins none without room", async () => {
  const { places, memory, pass } = setUp();
  await pass(10, 0.9);
  places[0]?.serve();
  memory.isShort = true;
  await pass(20, 0.9);
  expect(places.map(({ told }) => told)).toEqual([["close"], []]);
  expect(places[1]?.state).toBe("empty");
  const narrow = setUp({ hasRoom: false });
  await narrow.pass(60, 0.9);
  expect(narrow.places[0]?.state).toBe("empty");
});

it("waits for five minutes after one that did not start", async () => {
  const { scale, places, counts, pass } = setUp();
  await pass(10, 0.9);
  places[0]?.fail();
  scale.count();
  expect(counts).toEqual([2, 1]);
  await pass(299, 0.9);
  expect(places[0]?.state).toBe("empty");
  await pass(11, 0.9);
  expect(places[0]?.state).toBe("starting");
});

it("moves connections to a new one until they are about equal, and none later", async () => {
  const { first, places, pass } = setUp();
  await pass(10, 0.9);
  places[0]?.serve();
  await pass(1, 0.5);
  expect(first.moved).toEqual([20]);
  first.connections = 30;
  if (places[0] !== undefined) places[0].sums = { busyMs: 0, connections: 10 };
  await pass(1, 0.5);
  expect(first.moved).toEqual([20, 10]);
  if (places[0] !== undefined) places[0].sums = { ...places[0].sums, connections: 30 };
  await pass(40, 0.5);
  expect(first.moved.slice(2).every((count) => count === 0)).toBe(true);
  first.connections = 90;
  await pass(10, 0.5);
  expect(first.moved.length).toBe(30);
});

it("plans nothing any more once it is disposed", async () => {
  const { scale, time, pass } = setUp();
  await pass(1, 0);
  scale[Symbol.dispose]();
  expect(time.waiting).toBe(0);
});

it("moves as many as are above the mean, where these are more than a few", () => {
  const moves = (...connections: number[]) => movesOf(connections.map((count) => ({ busy: 0, connections: count })));
  expect(moves(32, 0)).toEqual([16, 0]);
  expect(moves(3, 0)).toEqual([0, 0]);
  expect(moves(60, 50)).toEqual([0, 0]);
  expect(moves(100, 50, 0)).toEqual([50, 0, 0]);
});

it("warns of a thread that does not start, but not where the server stops meanwhile", async () => {
  const { scale, places, warnings, pass } = setUp();
  await pass(10, 0.9);
  places[0]?.fail();
  await settle();
  expect(warnings).toEqual(["a further thread does not start"]);
  await pass(310, 0.9);
  expect(places[0]?.state).toBe("starting");
  scale[Symbol.dispose]();
  places[0]?.fail();
  await settle();
  expect(warnings).toHaveLength(1);
});
