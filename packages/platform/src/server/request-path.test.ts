// The way of a request: no promise between a read and its answer, one parse of the path, one authorization, and no more calls than it had.

import { createHook } from "node:async_hooks";
import { readFile } from "node:fs/promises";
import { Agent, request as httpsRequest } from "node:https";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ASKING, callsOf, OURS } from "../testing/calls-of.ts";
import { type RunningPlatform, startPlatform } from "../testing/running-platform.ts";
import { ONE_THREAD } from "../testing/threads-of-tests.ts";

let platform: RunningPlatform;
let get: (path: string) => Promise<number>;
let send: (method: string, path: string, body?: unknown) => Promise<number>;

beforeAll(async () => {
  platform = await startPlatform({ ...ONE_THREAD, store: "sqlite", "log-level": "info" });
  const agent = new Agent({ ca: await readFile(platform.server.caPath), keepAlive: true, maxSockets: 1 });
  const authorization = `Bearer ${platform.adminKey}`;
  send = (method, path, body) =>
    new Promise((resolve, reject) => {
      const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
      const headers = { authorization, ...(body !== undefined && { "content-type": type }) };
      httpsRequest(new URL(path, platform.server.url), { agent, method, headers }, (response) => {
        response.resume().on("end", () => resolve(response.statusCode ?? 0));
      })
        .on("error", reject)
        .end(body === undefined ? undefined : JSON.stringify(body));
    });
  get = (path) => send("GET", path);
  await platform.send({ path: "ownedaccesskeys", body: { metadata: { name: "read" }, spec: { user: "admin" } } });
});
afterAll(() => platform[Symbol.asyncDispose]());

const KEYS = "/apis/management.postern/v1/ownedaccesskeys";
const KEY = `${KEYS}/read`;
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

test("a proxied GET is read once, by the API router", async () => {
  const path = "/kubernetes/project/default/virtualcluster/demo/api/v1/namespaces/kube-system";
  const calls = await callsOf(() => get(path));
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
  const filters = new Set([...(await callsOf(() => get(KEY))).keys()].map((name) => name.slice(0, name.indexOf(" "))));
  expect([...filters].filter((url) => url.includes("/chain/with-authorization"))).toHaveLength(1);
});

const KUBECONFIG =
  "/kubernetes/management/apis/management.postern/v1/namespaces/p-default/virtualclusterinstances/demo/kubeconfig";
let number = 0;
const text = (): string => `${"y".repeat(380)} ${number++}`;
/**
 * Calls of named functions that each request of a kind makes. A test that fails says that requests have become dearer, or cheaper: `benchmarks:compare`
 * tells how much of it users feel, and the number is written anew.
 */
const CALLS: readonly [kind: string, calls: readonly number[], request: () => Promise<number>][] = [
  ["GET", [474], () => get(KEY)],
  ["LIST", [621], () => get(LIST)],
  [
    "CREATE",
    [2436],
    () => send("POST", KEYS, { metadata: { name: `key-${number++}` }, spec: { description: text() } }),
  ],
  // The field manager remembers the shape of the change, or does not.
  ["PATCH", [2775, 3225], () => send("PATCH", KEY, { spec: { description: text() } })],
  ["kubeconfig with a token", [2882], () => send("POST", KUBECONFIG, {})],
];

test.each(CALLS)("the number of calls of a %s stays as it is: %j", async (_kind, expected, request) => {
  const calls = await callsOf(async () => expect(await request()).toBeLessThan(300), 12);
  const sum = [...calls.values()].reduce((whole, each) => whole + each, 0);
  const isAsBefore = expected.some((each) => sum > each * 0.95 && sum < each * 1.05);
  expect(isAsBefore, `${sum} calls`).toBe(true);
});
