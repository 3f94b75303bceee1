// Objects are changed through one server, and an instance is created through another one, whose memory does not show the changes yet.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import type { Storage } from "@postern/apiserver/storage/storage";
import { withMethods } from "@postern/apiserver/storage/testing/with-methods";
import { expect, it } from "vitest";
import { type ManagementSuiteSurface, openManagementSuiteSurface } from "../../../testing/management-suite-surface.ts";
import { createRequestContext, testUser } from "../../../testing/request-context.ts";

/** A store whose events wait from `hold` on, until it is asked for its revision, as when memory is refreshed. */
function lateEvents(storage: Storage) {
  let waiting: (() => void)[] | undefined;
  const late = withMethods(storage, {
    watch: (prefix, from, observer) =>
      storage.watch(prefix, from, {
        events(...events) {
          if (waiting === undefined) observer.events(...events);
          else waiting.push(() => observer.events(...events));
        },
        error: (error) => observer.error(error),
      }),
    async currentRevision() {
      const revision = await storage.currentRevision();
      for (const deliver of waiting ?? []) deliver();
      waiting = undefined;
      return revision;
    },
    known: { revision: undefined },
  });
  const hold = (): void => {
    waiting = [];
  };
  return { late, hold };
}

async function send({ route }: ManagementSuiteSurface, method: string, path: string, body: JsonObject) {
  const url = `/apis/management.postern/v1/${path}`;
  const headers = { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json" };
  try {
    return (
      await route(createRequestContext({ method, url, body, headers, user: testUser("admin", ["system:masters"]) }))
    ).status;
  } catch (error) {
    if (isApiError(error)) return `${error.code} ${error.message}`;
    throw error;
  }
}

it.each([
  ["a cluster that a project may use now", { allowedClusters: [{ name: "eu" }] }, { clusterRef: { cluster: "eu" } }],
  [
    "a template that a project may use now",
    { allowedTemplates: [{ name: "small" }] },
    { templateRef: { name: "small" } },
  ],
])("%s is no fault of an instance", async (_, allowed, spec) => {
  await using storage = createMemoryStorage();
  const { late, hold } = lateEvents(storage);
  await using one = await openManagementSuiteSurface(storage);
  await using other = await openManagementSuiteSurface(late);
  const [field = ""] = Object.keys(allowed);
  await send(one, "POST", "projects", { metadata: { name: "web" }, spec: { [field]: [{ name: "none" }] } });
  await other.cache.refresh();
  const create = async (name: string) =>
    await send(other, "POST", "namespaces/p-web/virtualclusterinstances", { metadata: { name }, spec });
  expect(await create("before")).toMatch(/^422 .*may not use/);
  hold();
  expect(await send(one, "PATCH", "projects/web", { spec: allowed })).toBe(200);
  expect(await create("after")).toBe(201);
});
