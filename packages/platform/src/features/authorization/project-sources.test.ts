import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { afterEach, describe, expect, it } from "vitest";
import { createRequestContext } from "../../testing/request-context.ts";
import type { PlatformAuthorizer } from "./platform-decision.ts";
import { createProjectSources, projectsHiddenFrom } from "./project-sources.ts";
import type { PlatformRequest } from "./request/platform-request.ts";
import { type admin, names, userInfo } from "./testing/memory-world.ts";

const PREFIX = "/registry/management/internal/projects/";
const ending: Disposable[] = [];
afterEach(() => {
  for (const end of ending.splice(0)) end[Symbol.dispose]();
});

async function openSources(ranges: { readonly [project: string]: readonly string[] }) {
  const storage = createMemoryStorage();
  const write = (name: string, allowedSourceRanges: readonly string[]) =>
    encodeStoredValue({ apiVersion: "v1", kind: "Project", metadata: { name }, spec: { allowedSourceRanges } });
  for (const [name, own] of Object.entries(ranges)) await storage.create(PREFIX + name, write(name, own));
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  const view = cache.view(PREFIX);
  const sources = createProjectSources({ view, prefix: PREFIX }, systemRuntime.scheduler);
  ending.push(sources);
  return {
    sources,
    async change(name: string, own: readonly string[]) {
      const { revision } = view.get(PREFIX + name) as CachedObject;
      await cache.waitFor(await storage.update(PREFIX + name, write(name, own), revision));
    },
    async remove(name: string) {
      const { revision } = view.get(PREFIX + name) as CachedObject;
      await cache.waitFor(await storage.delete(PREFIX + name, revision));
    },
  };
}

describe("the networks of projects", () => {
  it("are those of each project, and follow its changes", async () => {
    const { sources, change, remove } = await openSources({ shop: ["10.0.0.0/8"], open: [] });
    expect([sources.rangesOf("shop"), sources.rangesOf("open"), sources.rangesOf("none")]).toEqual([
      ["10.0.0.0/8"],
      [],
      [],
    ]);
    expect([...sources.closedTo("10.1.2.3")]).toEqual([]);
    expect([...sources.closedTo("192.0.2.1")]).toEqual(["shop"]);
    let changes = 0;
    ending.push(sources.onChange(() => changes++));
    await change("open", ["192.0.2.0/24"]);
    await change("open", ["192.0.2.0/24"]);
    expect([...sources.closedTo("10.1.2.3")]).toEqual(["open"]);
    expect(changes).toBe(1);
    await remove("shop");
    expect([...sources.closedTo("192.0.2.1")]).toEqual([]);
  });

  it("hide them from callers elsewhere, unless those may lift the limit", async () => {
    const { sources } = await openSources({ shop: ["10.0.0.0/8"], lab: ["10.0.0.0/8"] });
    const authorizer = {
      decide: ({ inner }: PlatformRequest) => ({
        verdict: inner.verb === "restrict" && inner.name === "lab" ? "allow" : "no-opinion",
      }),
    } as unknown as Pick<PlatformAuthorizer, "decide">;
    const hiddenFrom = (user: typeof admin, remoteAddress: string) => {
      const { credential, request } = createRequestContext({ url: "/", user });
      const caller = { user, credential, request: Object.assign(Object.create(request), { remoteAddress }) };
      return [...projectsHiddenFrom(caller, { names, sources, authorizer })];
    };
    expect(hiddenFrom(userInfo("mia"), "10.1.1.1")).toEqual([]);
    expect(hiddenFrom(userInfo("mia"), "192.0.2.1")).toEqual(["shop"]);
    // Addresses that are none are in no network.
    expect(hiddenFrom(userInfo("mia"), "")).toEqual(["shop"]);
    expect(hiddenFrom(userInfo("postern:vcluster:p-shop:dev"), "192.0.2.1")).toEqual([]);
  });
});
