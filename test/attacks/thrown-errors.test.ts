// Each function that the event loop calls in a server throws once, while requests of every kind are under way: the server lives on, all requests
// end, and the error is in the log once. The build tells which functions these are, so that a new one is found by itself.

import { afterAll, beforeAll, expect, it } from "vitest";
import { everyCase } from "../../tools/test-cost/by-night.ts";
import type { PosternProcess } from "../e2e/testing/postern-process.ts";
import { type ProxiedPod, proxyPod } from "../e2e/testing/proxied-pod.ts";
import { buildFaulty, type FaultyBuild } from "./testing/faults/faulty-build.ts";
import { createTraffic, type Traffic } from "./testing/faults/traffic.ts";

const SEED = Number(process.env["TEST_SEED"]);
/** By day; by night all. */
const SAMPLE = 10;
/** Behind an error in the answers of the database nothing is written any more, until the supervisor restarts the server (ADR 140). */
const FATAL = /^packages\/stores\/src\/sqlite\/store-client\.ts/;

let build: FaultyBuild;
let pod: ProxiedPod | undefined;
let traffic: Traffic;

async function start(): Promise<void> {
  await pod?.[Symbol.asyncDispose]();
  pod = await proxyPod(build.surroundings);
  traffic = await createTraffic(pod);
  await traffic.send();
}

beforeAll(async () => {
  build = await buildFaulty();
  await start();
}, 300_000);
afterAll(async () => {
  await pod?.[Symbol.asyncDispose]();
  await build?.[Symbol.asyncDispose]();
});

const MAX_UNCAUGHT = 5;
const uncaughtIn = (server: PosternProcess): number =>
  server.output().split('"component":"uncaught-exception"').length +
  server.output().split('"component":"unhandled-rejection"').length -
  2;

/** Functions that the event loop calls while the traffic goes on. */
async function entries(): Promise<readonly string[]> {
  const before = new Map((await build.points()).map(({ place, count }) => [place, count]));
  expect(await traffic.send()).toEqual([]);
  const points = await build.points();
  return points
    .filter(({ place, count, isEntry }) => isEntry && place.endsWith(" call") && count > (before.get(place) ?? 0))
    .map(({ place }) => place);
}

function drawn(places: readonly string[]): readonly string[] {
  if (everyCase) return places;
  let state = SEED;
  return Array.from({ length: SAMPLE }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return places[state % places.length] ?? "";
  });
}

it(`an error in no callback ends the server or leaves a request open (TEST_SEED=${SEED})`, {
  timeout: 3_600_000,
}, async () => {
  const faults: string[] = [];
  const places = await entries();
  expect(places.length).toBeGreaterThan(50);
  for (const place of drawn(places)) {
    const { server } = pod ?? expect.unreachable();
    const printed = server.output().length;
    await build.arm(place);
    const open = await traffic.send();
    if (!(await build.hasThrown())) continue;
    const lines = () =>
      server
        .output()
        .slice(printed)
        .split("\n")
        .filter((line) => line.includes(`an injected fault at ${place}`));
    await expect.poll(() => lines().length).toBeGreaterThan(0);
    const isFatal = FATAL.test(place);
    const { status } = await (pod ?? expect.unreachable()).http("/livez");
    if (open.length > 0) faults.push(`${place}: left open: ${open.join(", ")}`);
    if (!isFatal && status !== 200) faults.push(`${place}: /livez answers ${status}`);
    // A part that several requests share may fail each of them.
    const unexpected = lines().filter((line) => line.includes('"unexpected error"')).length;
    if (unexpected > 1) faults.push(`${place}: reported ${unexpected} times`);
    // A process in which they keep occurring is given up (ADR 200), and what was left open would be so again.
    if (isFatal || open.length > 0 || uncaughtIn(server) >= MAX_UNCAUGHT) await start();
  }
  expect(faults).toEqual([]);
});
