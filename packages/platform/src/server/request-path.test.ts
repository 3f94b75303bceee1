// The way of a read: no promise between the request and its answer, one parse of the path, one authorization.

import { createHook } from "node:async_hooks";
import { readFile } from "node:fs/promises";
import { Agent, request as httpsRequest } from "node:https";
import { Session } from "node:inspector/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RunningPlatform, startPlatform } from "../testing/running-platform.ts";

const OURS = /\/packages\/(apimachinery|api|apiserver|kubernetes|platform|stores)\/src\//;
/** Files that send requests, rather than answer them. */
const ASKING = /\/(testing\/|server\/request-path\.test)/;
/** The answer does not wait for what this does: the second is a timer's, which measures how long the event loop stands still. */
const BESIDE = /\/audit\/file-audit-sink|\/main\.ts$/;

let platform: RunningPlatform;
let get: (path: string) => Promise<number>;

beforeAll(async () => {
  platform = await startPlatform({ store: "sqlite", "log-level": "info" });
  const agent = new Agent({ ca: await readFile(platform.server.caPath), keepAlive: true, maxSockets: 1 });
  const headers = { authorization: `Bearer ${platform.adminKey}` };
  get = (path) =>
    new Promise((resolve, reject) => {
      httpsRequest(new URL(path, platform.server.url), { agent, headers }, (response) => {
        response.resume().on("end", () => resolve(response.statusCode ?? 0));
      })
        .on("error", reject)
        .end();
    });
  await platform.send({ path: "ownedaccesskeys", body: { metadata: { name: "read" }, spec: { user: "admin" } } });
});
afterAll(() => platform[Symbol.asyncDispose]());

const KEY = "/apis/management.postern/v1/ownedaccesskeys/read";
const PROJECT = "/kubernetes/management/apis/management.postern/v1/projects/default";

const LIST = "/apis/management.postern/v1/ownedaccesskeys?limit=1";

test.each([KEY, PROJECT, LIST])("a GET from memory makes no promise: %s", async (path) => {
  expect(await get(path)).toBe(200);
  let made = new Set<string>();
  const depth = Error.stackTraceLimit;
  const hook = createHook({
    init(_id, type) {
      if (type !== "PROMISE") return;
      // Without those that ask, of which this is one.
      const frames = (new Error().stack ?? "").split("\n").filter((line) => OURS.test(line) && !ASKING.test(line));
      // The transport calls code that answers requests in this turn of the event loop.
      if (!frames.some((line) => line.includes("serve-exchange"))) return;
      made.add(frames.slice(0, 3).join("\n"));
    },
  });
  Error.stackTraceLimit = 100;
  hook.enable();
  try {
    // On a machine with much else to do a request may come when the turn of the event loop is over, and waits for the next.
    for (let times = 0; times < 20; times++) {
      made = new Set();
      expect(await get(path)).toBe(200);
      if (made.size === 0) break;
    }
  } finally {
    hook.disable();
    Error.stackTraceLimit = depth;
  }
  expect([...made]).toEqual([]);
});

/** How often a GET calls each function that has a name. */
async function callsOf(path: string): Promise<ReadonlyMap<string, number>> {
  await get(path);
  using session = Object.assign(new Session(), { [Symbol.dispose]: () => session.disconnect() });
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  const called = async (): Promise<ReadonlyMap<string, number>> => {
    await session.post("Profiler.takePreciseCoverage");
    expect(await get(path)).toBe(200);
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const ours = result.filter(({ url }) => OURS.test(url) && !BESIDE.test(url) && !ASKING.test(url));
    const counts = ours.flatMap(({ url, functions }) =>
      functions.map(({ functionName, ranges: [range] }) => [url, functionName, range?.count ?? 0] as const),
    );
    return new Map(
      counts
        .filter(([, name, count]) => name !== "" && count > 0)
        .map(([url, name, count]) => [`${url} ${name}`, count]),
    );
  };
  // Work beside requests runs now and then: functions that each of these requests has called are the path of a GET.
  let calls = await called();
  for (let times = 1; times < 40; times++) {
    const again = await called();
    calls = new Map([...calls].flatMap(([name, count]) => [[name, Math.min(count, again.get(name) ?? 0)] as const]));
  }
  return new Map([...calls].filter(([, count]) => count > 0));
}

test("a proxied GET is read once, by the API router", async () => {
  const calls = await callsOf("/kubernetes/project/default/virtualcluster/demo/api/v1/namespaces/kube-system");
  const readers = ["resolveProxiedRequest", "resolveRequest", "parseProxyPath", "resolveRequestInfo", "canonicalPath"];
  const read = [...calls].flatMap(([name, count]) => {
    const reader = readers.find((one) => name.endsWith(` ${one}`));
    return reader === undefined ? [] : [[reader, count] as const];
  });
  // The last one for the whole path, and for the path inside.
  expect(Object.fromEntries(read)).toEqual({
    resolveProxiedRequest: 1,
    parseProxyPath: 1,
    resolveRequestInfo: 1,
    canonicalPath: 2,
  });
});

test("a GET is authorized by the filter of the chain", async () => {
  const filters = new Set([...(await callsOf(KEY)).keys()].map((name) => name.slice(0, name.indexOf(" "))));
  expect([...filters].filter((url) => url.includes("/chain/with-authorization"))).toHaveLength(1);
});
