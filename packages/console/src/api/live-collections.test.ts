import { ApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { systemDelay } from "@postern/client/delay";
import type { ResourceClient } from "@postern/client/resource-client";
import type { WatchEvent } from "@postern/client/watch-events";
import { QueryClient } from "@tanstack/react-query";
import { expect, it } from "vitest";
import { createLiveCollections } from "./live-collections.ts";

/** Node 20 has none. */
function withResolvers<T>() {
  let resolve: (value: T) => void = () => undefined;
  let reject: (reason: unknown) => void = () => undefined;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

const object = (name: string, resourceVersion: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name, uid: name, resourceVersion },
});

/** A resource with one object, whose watch gives what the test sends. */
function fakeResource(list: () => Promise<unknown>) {
  let send: (event: WatchEvent<KubeObject>) => void = () => undefined;
  let watches = 0;
  let signal: AbortSignal | undefined;
  const watching = withResolvers<void>();
  const resource = {
    list,
    async *watch(options: { readonly signal?: AbortSignal }) {
      watches++;
      signal = options.signal;
      for (;;) {
        const next = withResolvers<WatchEvent<KubeObject>>();
        send = next.resolve;
        signal?.addEventListener("abort", () => next.reject(signal?.reason));
        watching.resolve();
        yield await next.promise;
      }
    },
  } as unknown as ResourceClient<KubeObject>;
  return {
    resource,
    watching: watching.promise,
    send: (event: WatchEvent<KubeObject>) => send(event),
    watches: () => watches,
    signal: () => signal,
  };
}

const KEY = ["live", "/things"];
const oneThing = async () => ({ metadata: { resourceVersion: "1" }, items: [object("a", "1")] });
const namesIn = (data: unknown): readonly string[] =>
  (data as readonly KubeObject[]).map(({ metadata }) => metadata.name ?? "");

it("lists once, and puts what the watch brings into the cache", async () => {
  const queries = new QueryClient();
  const fake = fakeResource(oneThing);
  const live = createLiveCollections(queries, systemDelay);
  const first = await queries.fetchQuery({ queryKey: KEY, queryFn: () => live.start(KEY, fake.resource, undefined) });
  expect(namesIn(first)).toEqual(["a"]);
  await fake.watching;
  const changed = withResolvers<void>();
  queries.getQueryCache().subscribe(({ type }) => type === "updated" && changed.resolve());
  fake.send({ type: "ADDED", object: object("b", "2") });
  await changed.promise;
  expect(namesIn(queries.getQueryData(KEY))).toEqual(["a", "b"]);
  expect(fake.watches()).toBe(1);
  queries.clear();
});

it("counts the objects of a long list while its pages come", async () => {
  const page = (from: number, next: string) => ({
    metadata: { resourceVersion: "1", continue: next },
    items: Array.from({ length: 500 }, (_, at) => object(`thing-${from + at}`, "1")),
  });
  const second = withResolvers<void>();
  const pages = [async () => page(0, "more"), () => second.promise.then(() => page(500, ""))];
  const fake = fakeResource(() => pages.shift()?.() ?? Promise.reject(new Error("no more pages")));
  const live = createLiveCollections(new QueryClient(), systemDelay);
  const counted: number[] = [];
  const half = withResolvers<void>();
  live.loaded.subscribe(() => {
    counted.push(live.loaded.count(JSON.stringify(KEY)));
    if (counted.at(-1) === 500) half.resolve();
  });
  const list = live.start(KEY, fake.resource, undefined);
  await half.promise;
  second.resolve();
  expect((await list).length).toBe(1_000);
  expect(counted).toEqual([250, 500, 750, 1_000]);
  expect(live.loaded.count(JSON.stringify(KEY))).toBe(0);
});

it("ends the watch with the last view", async () => {
  const queries = new QueryClient();
  const fake = fakeResource(oneThing);
  const live = createLiveCollections(queries, systemDelay);
  await queries.fetchQuery({ queryKey: KEY, queryFn: () => live.start(KEY, fake.resource, undefined) });
  await fake.watching;
  expect(fake.signal()?.aborted).toBe(false);
  queries.removeQueries({ queryKey: KEY });
  expect(fake.signal()?.aborted).toBe(true);
});

it("gives up where the server refuses, and reports why", async () => {
  const queries = new QueryClient();
  let lists = 0;
  const fake = fakeResource(() => {
    lists++;
    throw new ApiError({ code: 403, reason: "Forbidden", message: "things are not yours" });
  });
  const live = createLiveCollections(queries, systemDelay);
  await expect(live.start(KEY, fake.resource, undefined)).rejects.toThrow("things are not yours");
  expect([lists, fake.watches()]).toEqual([1, 0]);
});
