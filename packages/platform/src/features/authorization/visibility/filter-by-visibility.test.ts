import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { createResourceKeys } from "@postern/apiserver/cache/resource-keys";
import { defineResource } from "@postern/apiserver/registry/resource-definition";
import type { ListQuery, WatchQuery } from "@postern/apiserver/registry/resource-storage";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { serveResources } from "@postern/apiserver/testing/serve-resources";
import { afterEach, describe, expect, test } from "vitest";
import { createRequestContext } from "../../../testing/request-context.ts";
import { accessKey } from "../../access-keys/testing/access-key.ts";
import type { FilteredResource } from "../filtered-resources.ts";
import { createInstancePermissionIndex } from "../members/instance-permissions.ts";
import { createProjectMembershipIndex } from "../members/project-memberships.ts";
import { createPlatformAuthorizer } from "../platform-authorizer.ts";
import { createProjectSources } from "../project-sources.ts";
import { admin, management, memorySources, names, scoped, userInfo, world } from "../testing/memory-world.ts";
import { filterByVisibility } from "./filter-by-visibility.ts";
import { createVisibility } from "./visibility.ts";

afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end();
});
const ending: (() => unknown)[] = [];
let revision = 0;

/** Projects and instances in a real store, behind the filter, with decisions made from the same cache. */
async function platform() {
  const served = await serveResources([]);
  const { cache, registry } = served;
  const viewOf = (resource: string) => {
    const { prefix } = createResourceKeys("test", {
      group: names.managementGroup,
      resource,
      namespaced: resource.endsWith("instances"),
    });
    return { view: cache.view(prefix), prefix };
  };
  const projectMemberships = createProjectMembershipIndex(viewOf("projects"), systemRuntime.scheduler);
  const instancePermissions = createInstancePermissionIndex(
    { virtualclusterinstances: viewOf("virtualclusterinstances"), spaceinstances: viewOf("spaceinstances") },
    systemRuntime.scheduler,
  );
  ending.push(
    () => served[Symbol.asyncDispose](),
    () => projectMemberships[Symbol.dispose](),
    () => instancePermissions[Symbol.dispose](),
  );
  const sources = { ...memorySources(world()), projects: projectMemberships, instances: instancePermissions };
  const visibility = createVisibility(sources);
  const authorizer = createPlatformAuthorizer(sources);
  const projectSources = createProjectSources(viewOf("projects"), systemRuntime.scheduler);
  ending.push(() => projectSources[Symbol.dispose]());
  const install = (plural: FilteredResource, kind: string) =>
    registry.install(
      defineResource({
        group: names.managementGroup,
        version: "v1",
        kind,
        plural,
        singular: kind.toLowerCase(),
        namespaced: plural.endsWith("instances"),
        schema: kindSchema(s.object({ spec: s.anyObject() }).schema),
        visibility: filterByVisibility(visibility, plural, { names, sources: projectSources, authorizer }),
      }),
    );
  const projects = install("projects", "Project");
  const instances = install("virtualclusterinstances", "VirtualClusterInstance");

  const context = (user: UserInfo, key?: { readonly id: string }) =>
    createRequestContext({ url: "/", user, credential: key });
  const put = async (kind: "Project" | "VirtualClusterInstance", namespace: string, name: string, spec: JsonObject) => {
    const { genericStore: store } = kind === "Project" ? projects : instances;
    const metadata = namespace === "" ? { name } : { name, namespace };
    const object = { apiVersion: `${names.managementGroup}/v1`, kind, metadata, spec };
    const known =
      (kind === "Project"
        ? projectMemberships.get(name)
        : instancePermissions.get("virtualclusterinstances", namespace, name)) !== undefined;
    if (!known) return await store.create(context(admin), namespace, object, { dryRun: false });
    const request = { subresource: "", transform: (current: typeof object) => ({ ...current, spec }) };
    // The current object has the shape of the one that was created.
    return (await store.update(context(admin), namespace, name, request as never, { dryRun: false })).object;
  };
  const all = { namespace: "", limit: 0, continue: "", resourceVersion: "", resourceVersionMatch: "" };
  return {
    sources,
    authorizer,
    putProject: (name: string, spec: JsonObject) => put("Project", "", name, spec),
    putInstance: (place: string, spec: JsonObject) => {
      const [namespace = "", name = ""] = place.split("/");
      return put("VirtualClusterInstance", namespace, name, spec);
    },
    removeInstance: (namespace: string, name: string) =>
      instances.genericStore.delete(context(admin), namespace, name, { dryRun: false }),
    async list(
      resource: "projects" | "virtualclusterinstances",
      user: UserInfo,
      options: Partial<ListQuery> & { key?: { readonly id: string } } = {},
    ) {
      const { key, ...query } = options;
      const { servedStore: served } = resource === "projects" ? projects : instances;
      const page = await served.list?.(context(user, key), { ...all, ...query });
      return {
        ...page,
        names: (page?.items ?? []).map(({ key: at }) =>
          at
            .split("/")
            .slice(resource === "projects" ? -1 : -2)
            .join("/"),
        ),
      };
    },
    async watch(user: UserInfo, key?: { readonly id: string }) {
      const seen: string[] = [];
      const waiting: (() => void)[] = [];
      const tell = (text: string): void => {
        seen.push(text);
        for (const wake of waiting.splice(0)) wake();
      };
      const query: WatchQuery = {
        namespace: "",
        resourceVersion: "0",
        allowWatchBookmarks: true,
        sendInitialEvents: undefined,
      };
      const watch = await instances.servedStore.watch?.(context(user, key), query, {
        initialState: (read) => {
          for (let page = read(1 << 20); page !== undefined; page = read(1 << 20))
            for (const object of page instanceof Promise ? [] : page)
              tell(`ADDED ${object.key.split("/").slice(-2).join("/")}`);
        },
        event: (type, object) => tell(`${type} ${object.key.split("/").slice(-2).join("/")}`),
        initialEventsEnd: () => tell("SYNCED"),
        progress: () => {},
        error: (error) => tell(`ENDED ${"code" in error ? error.code : error.message}`),
      });
      ending.push(() => watch?.[Symbol.dispose]());
      /** Everything seen, once it ends with `last`. */
      return async (last: string): Promise<readonly string[]> => {
        while (seen.at(-1) !== last) await new Promise<void>((resolve) => waiting.push(resolve));
        return seen.splice(0);
      };
    },
  };
}

const member = (name: string) => ({ members: [{ kind: "User", name, clusterRole: "postern:project-viewer" }] });
const adam = userInfo("adam");

describe("lists", () => {
  test("show the objects that the caller may get, and those alone", async () => {
    const { putProject, putInstance, list } = await platform();
    await putProject("a", member("adam"));
    await putProject("b", { owner: { user: "bea" } });
    await putInstance("p-a/v1", {});
    await putInstance("p-b/v1", {});
    await putInstance("p-b/v2", { owner: { user: "adam" } });
    await putInstance("p-b/v3", { access: [{ verbs: ["get"], users: ["adam"] }] });
    expect((await list("projects", adam)).names).toEqual(["a", "b"]);
    expect((await list("virtualclusterinstances", adam)).names).toEqual(["p-a/v1", "p-b/v2", "p-b/v3"]);
    expect((await list("virtualclusterinstances", adam, { namespace: "p-b" })).names).toEqual(["p-b/v2", "p-b/v3"]);
    expect((await list("virtualclusterinstances", admin)).names).toHaveLength(4);
    expect((await list("virtualclusterinstances", userInfo("carl"))).names).toEqual([]);
  });

  test("with full rights nothing is filtered, so that the rest can be counted", async () => {
    const { putProject, list } = await platform();
    for (const name of ["a", "b", "c"]) await putProject(name, {});
    expect(await list("projects", admin, { limit: 1 })).toMatchObject({ names: ["a"], remainingItemCount: 2 });
  });

  test("continue across pages", async () => {
    const { putProject, list } = await platform();
    for (const name of ["a", "b", "c", "d"]) await putProject(name, name === "b" ? {} : member("adam"));
    const first = await list("projects", adam, { limit: 2 });
    expect(first.names).toEqual(["a", "c"]);
    const second = await list("projects", adam, { limit: 2, continue: first.continue ?? "" });
    expect(second.names).toEqual(["d"]);
  });

  test("are narrowed by the scope of the key (security book 1)", async () => {
    const { putProject, putInstance, list, sources } = await platform();
    for (const project of ["a", "b"]) {
      await putProject(project, member("adam"));
      for (const name of ["v1", "v2"]) await putInstance(`p-${project}/${name}`, {});
    }
    const seen = async (restrictions: ReturnType<typeof scoped>) => {
      const key = accessKey({ restrictions, revision: ++revision });
      sources.access.setKey(key);
      const [projects, instances] = [
        await list("projects", adam, { key }),
        await list("virtualclusterinstances", adam, { key }),
      ];
      return [projects.names, instances.names];
    };
    expect(await seen(scoped({}))).toEqual([[], []]);
    expect(await seen(scoped({ projects: [{ project: "a" }] }))).toEqual([["a"], ["p-a/v1", "p-a/v2"]]);
    expect(await seen(scoped({ virtualClusters: [{ project: "b", virtualCluster: "v2" }] }))).toEqual([
      ["b"],
      ["p-b/v2"],
    ]);
    expect(await seen(scoped({ projects: [{ project: "c" }] }))).toEqual([[], []]);
    sources.access.setRefusal("disabled");
    expect(await seen(scoped({ projects: [{ project: "a" }] }))).toEqual([[], []]);
  });
});

describe("watches", () => {
  test("show objects that become visible, and remove others", async () => {
    const { putProject, putInstance, removeInstance, watch } = await platform();
    await putProject("a", member("adam"));
    await putInstance("p-a/v1", {});
    await putInstance("p-b/v1", {});
    const seenUntil = await watch(adam);
    expect(await seenUntil("SYNCED")).toEqual(["ADDED p-a/v1", "SYNCED"]);
    await putInstance("p-b/v2", {});
    await putInstance("p-b/v1", { owner: { user: "adam" } });
    expect(await seenUntil("ADDED p-b/v1")).toEqual(["ADDED p-b/v1"]);
    await putInstance("p-b/v1", { owner: { user: "adam" }, displayName: "mine" });
    await putInstance("p-b/v1", { owner: { user: "bea" } });
    expect(await seenUntil("DELETED p-b/v1")).toEqual(["MODIFIED p-b/v1", "DELETED p-b/v1"]);
    await removeInstance("p-b", "v1");
    await removeInstance("p-a", "v1");
    expect(await seenUntil("DELETED p-a/v1")).toEqual(["DELETED p-a/v1"]);
  });

  test("end with 410 when the caller is no longer a member, before anything more is shown (security book 3)", async () => {
    const { putProject, putInstance, watch, authorizer } = await platform();
    await putProject("a", member("adam"));
    await putInstance("p-a/v1", {});
    const seenUntil = await watch(adam);
    await seenUntil("SYNCED");
    await putProject("a", {});
    const get = management({ resource: "virtualclusterinstances", namespace: "p-a", name: "v1" });
    expect(authorizer.decide(get, { user: adam }).verdict).toBe("no-opinion");
    await putInstance("p-a/v1", { displayName: "secret" });
    expect(await seenUntil("ENDED 410")).toEqual(["ENDED 410"]);
  });

  test("continue when others join other projects, and when instances are created and deleted", async () => {
    const { putProject, putInstance, watch } = await platform();
    await putProject("a", member("adam"));
    const seenUntil = await watch(adam);
    await seenUntil("SYNCED");
    await putProject("b", member("bea"));
    await putInstance("p-b/v1", { owner: { user: "bea" } });
    await putInstance("p-a/v1", {});
    expect(await seenUntil("ADDED p-a/v1")).toEqual(["ADDED p-a/v1"]);
  });

  test("end when roles change, or the key is narrowed or refused (security book 3)", async () => {
    const { putInstance, watch, sources } = await platform();
    await putInstance("p-a/v1", { owner: { user: "adam" } });
    const key = accessKey();
    const other = accessKey({ id: "other", uid: "other" });
    sources.access.setKey(key);
    sources.access.setKey(other);
    const [byRole, byKey, byRefusal] = [await watch(adam), await watch(adam, key), await watch(adam, other)];
    for (const seenUntil of [byRole, byKey, byRefusal]) await seenUntil("SYNCED");

    sources.access.setKey({ ...key, revision: 2, restrictions: scoped({}) });
    sources.access.setKey(undefined, "other");
    await putInstance("p-a/v1", { owner: { user: "adam" }, displayName: "1" });
    expect(await byKey("ENDED 410")).toEqual(["ENDED 410"]);
    expect(await byRefusal("ENDED 410")).toEqual(["ENDED 410"]);
    expect(await byRole("MODIFIED p-a/v1")).toEqual(["MODIFIED p-a/v1"]);

    sources.rbac.setRole("", "new", []);
    sources.rbac.setBinding({
      name: "adam",
      namespace: "",
      subjects: [{ kind: "User", name: "adam", namespace: "" }],
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "new" },
    });
    await putInstance("p-a/v1", { owner: { user: "adam" }, displayName: "2" });
    expect(await byRole("ENDED 410")).toEqual(["ENDED 410"]);
  });

  test("of callers who see everything continue when roles change, until their own changes", async () => {
    const { putInstance, watch, sources } = await platform();
    const seenUntil = await watch(admin);
    await seenUntil("SYNCED");
    sources.rbac.setRole("", "new", []);
    await putInstance("p-a/v1", {});
    expect(await seenUntil("ADDED p-a/v1")).toEqual(["ADDED p-a/v1"]);
    sources.rbac.removeBinding("", "postern:admin");
    await putInstance("p-a/v1", { displayName: "1" });
    expect(await seenUntil("ENDED 410")).toEqual(["ENDED 410"]);
  });
});

test("facts change their version with their content, not with every write", async () => {
  const { putInstance, putProject, sources } = await platform();
  await putProject("a", { ...member("adam"), displayName: "1" });
  await putInstance("p-a/v1", { owner: { user: "ines" }, displayName: "1" });
  const before = [sources.projects.version, sources.instances.version];
  await putProject("a", { ...member("adam"), displayName: "2" });
  await putInstance("p-a/v1", { owner: { user: "ines" }, displayName: "2" });
  expect([sources.projects.version, sources.instances.version]).toEqual(before);
  await putInstance("p-a/v1", { owner: { user: "adam" } });
  expect(sources.instances.version).toBeGreaterThan(before[1] ?? 0);
  expect(sources.instances.get("virtualclusterinstances", "p-a", "v1")?.owner.user).toBe("adam");
});
