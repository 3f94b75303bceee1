// Each function that the event loop calls in a server throws once, and each function of its threads, while requests of every kind are under way: the
// server lives on, all requests end, the error is in the log, and behind it requests end as before. The build tells which functions these are, so that a
// new one is found by itself.

import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { everyCase } from "../../tools/test-cost/by-night.ts";
import { adminKey } from "../e2e/testing/http-client.ts";
import type { PosternProcess } from "../e2e/testing/postern-process.ts";
import { type ProxiedPod, proxyPod } from "../e2e/testing/proxied-pod.ts";
import { defaultStoreName } from "../e2e/testing/stores.ts";
import { buildFaulty, type FaultPoint, type FaultyBuild } from "./testing/faults/faulty-build.ts";
import { type Outside, startOutside } from "./testing/faults/outside-traffic.ts";
import { createTraffic, type Round, type Traffic } from "./testing/faults/traffic.ts";
import { metric } from "./testing/threads/clusters.ts";

const SEED = Number(process.env["TEST_SEED"]);
/** By day, or as many as FAULTS says; by night all. */
const SAMPLE = Number(process.env["FAULTS"] ?? 10);
/** Where its callbacks are looked for: in the thread of the database, or in the client of etcd. */
const STORE = `packages/stores/src/${defaultStoreName() === "etcd" ? "etcd/" : "sqlite/sqlite-worker.ts"}`;
/** Behind an error in the answers of the database nothing is written any more, until the supervisor restarts the server (ADR 140). */
const FATAL = /^packages\/stores\/src\/sqlite\/store-client\.ts/;
/** The same in what both threads call for it, and in the thread itself. */
const ENDED_STORE = /the database thread has failed|requests cannot be sent to the database thread/;
/** An error below these, in what the thread does for someone, must not end it. */
const WORK_OF_THREAD = /^(?:StoreSession\.)?(?:#commit|#read|#tidyUp|checkOn) /;
const endedStore = (place: string, lines: readonly string[]): boolean =>
  place.startsWith("packages/stores/src/sqlite/") &&
  lines.some((line) => ENDED_STORE.test(line) && !callersIn(line, place).some((frame) => WORK_OF_THREAD.test(frame)));

/** Frames of the injected error, without its own and that of the function that throws it. */
const callersIn = (line: string, place: string): readonly string[] =>
  line
    .slice(line.lastIndexOf(`an injected fault at ${place}`))
    .split(String.raw`\n    at `)
    .slice(3);

let build: FaultyBuild;
let pod: ProxiedPod | undefined;
let outside: Outside | undefined;
let traffic: Traffic;
/** How requests end where nothing fails. */
let usual: Round["outcomes"];

async function start(): Promise<void> {
  await end();
  pod = await proxyPod(build.surroundings);
  outside = await startOutside(pod);
  traffic = await createTraffic(pod, outside.kinds);
  // The first times are those of connections, and of what is learned.
  await traffic.send();
  await traffic.send();
  usual = (await traffic.send()).outcomes;
}
async function end(): Promise<void> {
  await pod?.[Symbol.asyncDispose]();
  await outside?.[Symbol.asyncDispose]();
}

beforeAll(async () => {
  build = await buildFaulty();
  await start();
}, 300_000);
afterAll(async () => {
  await end();
  await build?.[Symbol.asyncDispose]();
});

const MAX_UNCAUGHT = 5;
const uncaughtIn = (server: PosternProcess): number =>
  server.output().split('"component":"uncaught-exception"').length +
  server.output().split('"component":"unhandled-rejection"').length -
  2;

/** By requests that have ended. Those that are closing give theirs back soon. */
async function placesHeld(): Promise<number> {
  const { http, server } = pod ?? expect.unreachable();
  const key = await adminKey(server);
  const held = async () => (await metric(http, key, "apiserver_current_inflight_requests")) - OWN_PLACE;
  return await expect
    .poll(held)
    .toBe(0)
    .then(() => 0, held);
}
/** An error in the very function that receives a place loses it. */
const RECEIVES_PLACE = /^packages\/apiserver\/src\/chain\/with-flow-control\.ts:/;
/** Of the request for the metrics. */
const OWN_PLACE = 1;

/** Functions that the event loop calls while the traffic goes on, and all that threads call meanwhile. */
async function entries(): Promise<readonly FaultPoint[]> {
  await build.points();
  expect((await traffic.send()).open).toEqual([]);
  return (await build.points()).filter(({ place }) => place.endsWith(" call"));
}

function drawn(places: readonly FaultPoint[]): readonly FaultPoint[] {
  if (everyCase) return places;
  const next = randomNumbers(SEED);
  const left = [...places];
  return Array.from({ length: SAMPLE }, () => left.splice(next(left.length), 1)).flat();
}

it(`an error in no callback ends the server or leaves a request open (TEST_SEED=${SEED})`, {
  timeout: 7_200_000,
}, async () => {
  const faults: string[] = [];
  const places = await entries();
  expect(places.length).toBeGreaterThan(110);
  expect(places.filter(({ place }) => place.startsWith(STORE))).not.toEqual([]);
  for (const point of drawn(places)) {
    const { place } = point;
    const { server } = pod ?? expect.unreachable();
    const printed = server.output().length;
    await build.arm(point);
    const { open } = await traffic.send();
    await build.disarm();
    if (!(await build.hasThrown())) continue;
    const lines = () =>
      server
        .output()
        .slice(printed)
        .split("\n")
        .filter((line) => line.includes(`an injected fault at ${place}`));
    const isFatal = FATAL.test(place) || endedStore(place, lines());
    const { status } = await (pod ?? expect.unreachable()).http("/livez");
    if (open.length > 0) faults.push(`${place}: left open: ${open.join(", ")}`);
    if (!isFatal && status !== 200) faults.push(`${place}: /livez answers ${status}`);
    const again = isFatal || open.length > 0 ? undefined : await traffic.send();
    const changed = again === undefined ? [] : [...usual].filter(([name, end]) => again.outcomes.get(name) !== end);
    for (const [name, end] of changed)
      faults.push(`${place}: ${name} ended with ${end}, and then with ${again?.outcomes.get(name) ?? "nothing"}`);
    const held = again === undefined || changed.length > 0 ? 0 : await placesHeld();
    if (held > 0 && !RECEIVES_PLACE.test(place))
      faults.push(`${place}: ${held} places in flow control were not given back`);
    // An error that its owner drops is logged after a while.
    await expect
      .poll(() => lines().length)
      .toBeGreaterThan(0)
      .catch(() => faults.push(`${place}: is not in the log`));
    // A part that several requests share may fail each of them.
    const unexpected = lines().filter((line) => line.includes('"unexpected error"')).length;
    if (unexpected > 1) faults.push(`${place}: reported ${unexpected} times`);
    // A process in which they keep occurring is given up (ADR 200), and what was left open would be so again.
    if (isFatal || open.length > 0 || changed.length > 0 || held > 0 || uncaughtIn(server) >= MAX_UNCAUGHT)
      await start();
  }
  expect(faults).toEqual([]);
});
