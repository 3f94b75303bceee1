// Two servers on one store, each with a clock of its own, for access on request. The first one leads: it ends requests.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Authentication } from "@postern/apiserver/authentication/authenticator";
import { encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { createResourceKeys } from "@postern/apiserver/cache/resource-keys";
import { controlledResources } from "@postern/apiserver/controllers/controller-port";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { type ManualTime, manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { createTestContext, testAdmin } from "@postern/apiserver/testing/test-context";
import { accessRequestControllers } from "../../features/access-requests/controllers/index.ts";
import { insideClusterRoles } from "../../features/authorization/inside/inside-groups.ts";
import { getRequest, managementRequest } from "../../features/authorization/request/platform-request.ts";
import { openManagementSuiteSurface } from "../../testing/management-suite-surface.ts";
import { createRequestContext } from "../../testing/request-context.ts";
import { PLACES, type Place, placeId, ROLES } from "./access-oracle.ts";

const GROUP = "management.postern";
const START = Date.parse("2026-01-01T10:00:00Z");

export type AccessServer = Awaited<ReturnType<typeof openServer>>;

async function openServer(storage: ReturnType<typeof createMemoryStorage>, time: ManualTime) {
  const surface = await openManagementSuiteSurface(storage, {
    ...{ clock: time.clock, scheduler: time.scheduler },
    random: systemRuntime.random,
  });
  const { platform, route, cache } = surface;
  const { keys, authorization, base } = platform;

  /** Undefined: the key is refused. */
  async function authenticate(key: string): Promise<Authentication | undefined> {
    const { request } = createTestContext({ url: "/", headers: { authorization: `Bearer ${key}` } });
    try {
      return await keys.authenticator.authenticate(request);
    } catch (error) {
      if (isApiError(error)) return undefined;
      throw error;
    }
  }
  const holds = ({ user, credential }: Authentication, place: Place, role: string): boolean => {
    const { kind, project, name } = place;
    if (kind === "VirtualCluster")
      return insideClusterRoles(user, { project, virtualCluster: name }, authorization.sources).includes(role);
    const asked =
      kind === "Cluster"
        ? { ...getRequest(GROUP, "clusters", "", name), verb: "use" }
        : getRequest("", role.replace("reads-", ""), base.names.projectNamespace(project), "");
    return authorization.authorizer.decide(managementRequest(asked), { user, credential }).verdict === "allow";
  };
  return {
    time,
    surface,
    refresh: () => cache.refresh({ signal: AbortSignal.timeout(60_000) }),
    /** Without a key: as the administrator. A refused key is answered with 401. */
    async send(method: string, path: string, body?: object, key?: string) {
      const by = key === undefined ? { user: testAdmin } : await authenticate(key);
      if (by === undefined) return { status: 401, json: undefined };
      const context = createRequestContext({
        ...{ method, url: `/apis/${GROUP}/v1/${path}`, body, ...by },
        headers: { accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }) },
      });
      try {
        const { status, body: answer } = await route(context);
        const text = answer.type === "bytes" ? Buffer.from(answer.bytes).toString() : "";
        return { status, json: text === "" ? undefined : JSON.parse(text) };
      } catch (error) {
        if (!isApiError(error)) throw error;
        return { status: error.code, json: error.toStatus() as any };
      }
    },
    async rightsOf(key: string): Promise<readonly string[]> {
      const by = await authenticate(key);
      if (by === undefined) return [];
      return PLACES.flatMap((place) =>
        ROLES[place.kind].filter((role) => holds(by, place, role)).map((role) => `${placeId(place)}/${role}`),
      );
    },
  };
}

export async function openAccessServers() {
  const storage = createMemoryStorage();
  const leading = await openServer(storage, manualTime(START));
  const servers = [leading, await openServer(storage, manualTime(START))] as const;
  const { base, api, access, accessKinds, directory, authorization } = leading.surface.platform;
  const errors: unknown[] = [];
  const controllers = accessRequestControllers(
    {
      resources: controlledResources(api.registry),
      runtime: base.runtime,
      onError: (error) => void errors.push(error),
    },
    base,
    { access, kinds: accessKinds, directory, authorization, webhook: undefined },
  );
  const revisions = new Map<string, number>();
  const refresh = async () => {
    for (const server of servers) await server.refresh();
  };
  return {
    servers,
    errors,
    /** Writes an object to the store, behind the API. */
    async put(location: Parameters<typeof createResourceKeys>[1], object: JsonObject): Promise<void> {
      const { namespace = "", name = "" } = (object as KubeObject).metadata;
      const key = createResourceKeys("management", location).of(namespace, name);
      const value = encodeStoredValue(object as KubeObject);
      const before = revisions.get(key);
      revisions.set(
        key,
        before === undefined ? await storage.create(key, value) : await storage.update(key, value, before),
      );
    },
    /** Until the leading server has nothing to do, and both have read what was written. */
    async settled(): Promise<void> {
      await refresh();
      for (const controller of controllers) await controller.idle();
      await refresh();
    },
    async [Symbol.asyncDispose]() {
      for (const controller of controllers) controller[Symbol.dispose]();
      for (const { surface } of servers) await surface[Symbol.asyncDispose]();
      await storage[Symbol.asyncDispose]();
    },
  };
}
