// Random requests, approvals, revocations, deletions, restarts and clocks on two servers, against an oracle that looks at plain data: each server grants
// exactly the standing roles and those of requests that are approved and whose time has come and is not over.

import { createPlatformNames } from "@postern/api/platform-names";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { createResourceKeys } from "@postern/apiserver/cache/resource-keys";
import { createClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { type ManualTime, manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { expect, test } from "vitest";
import { insideClusterRoles } from "../authorization/inside/inside-groups.ts";
import { createInstancePermissionIndex } from "../authorization/members/instance-permissions.ts";
import { createProjectMembershipIndex } from "../authorization/members/project-memberships.ts";
import { projectRolesOf } from "../authorization/owner-permissions.ts";
import { type AccessGrants, openAccessGrants } from "./access-grants.ts";
import { CLOCK_SKEW_MS } from "./access-limits.ts";

const names = createPlatformNames({ domain: "postern", name: "postern", projectNamespacePrefix: "p-" });
const SEED = Number(process.env["TEST_SEED"] ?? 37);
const ROUNDS = Number(process.env["POSTERN_PROPERTY_CASES"] ?? 5_000) / 500;
const STEPS = 60;
const START = Date.parse("2026-01-01T00:00:00Z");
const USERS = ["ann", "bob"];
const PROJECTS = ["a", "b"];
const CLUSTERS = ["eu", "us"];
const MINUTE = 60_000;

type Grant = {
  readonly name: string;
  readonly uid: string;
  readonly user: string;
  readonly place: { readonly project: string; readonly virtualCluster?: string } | { readonly cluster: string };
  readonly targetUid: string;
  readonly role: string;
  readonly from: number;
  readonly until: number;
  phase: "Pending" | "Approved" | "Revoked";
};

/** Numbers in [0, 1) that a seed decides. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** One server: its memory of the store, its clock, and what an oracle knows of that clock. */
function openServer(cache: ReturnType<typeof createWatchCache>, time: ManualTime) {
  const viewOf = (resource: string, namespaced = false) => {
    const { prefix } = createResourceKeys("management", { group: names.managementGroup, resource, namespaced });
    return { view: cache.view(prefix), prefix };
  };
  const { clock, scheduler } = time;
  const grants = openAccessGrants({
    names,
    objects: (plural) => viewOf(plural),
    epochs: createClockEpochs(clock),
    runtime: { clock, scheduler },
  });
  const projects = createProjectMembershipIndex(viewOf("projects"), scheduler, grants);
  const instances = createInstancePermissionIndex(
    {
      virtualclusterinstances: viewOf("virtualclusterinstances", true),
      spaceinstances: viewOf("spaceinstances", true),
    },
    scheduler,
    { access: grants, names },
  );
  return {
    time,
    grants,
    projects,
    instances,
    /** By uid: once over here, over for good. */
    over: new Set<string>(),
    /** By uid: the latest moment until which time has passed since it was learned, whatever the clock was set to. */
    learned: new Map<string, { readonly now: number; readonly elapsed: number }>(),
    [Symbol.dispose]() {
      for (const part of [instances, projects, grants]) part[Symbol.dispose]();
    },
  };
}
type Server = ReturnType<typeof openServer>;

const userOf = (user: string, grants: AccessGrants, key: Parameters<AccessGrants["groupsOf"]>[0] = {}) => ({
  name: user,
  groups: ["system:authenticated", names.userGroup(user), ...grants.groupsOf(key, { name: user, uid: `uid-${user}` })],
});

/** Asked at every step, as a server with requests is. */
function isAlive(grant: Grant, uids: ReadonlyMap<string, string>, server: Server): boolean {
  const { clock } = server.time;
  if (grant.phase !== "Approved") {
    server.learned.delete(grant.uid);
    return false;
  }
  const learned = server.learned.get(grant.uid) ?? { now: clock.now(), elapsed: clock.elapsed() };
  server.learned.set(grant.uid, learned);
  const passed = learned.now + clock.elapsed() - learned.elapsed;
  const isOver = Math.max(clock.now(), passed) >= grant.until || grant.from - CLOCK_SKEW_MS > clock.now();
  if (isOver) server.over.add(grant.uid);
  return !server.over.has(grant.uid) && uids.get(targetKey(grant.place)) === grant.targetUid;
}

const targetKey = (place: Grant["place"]): string =>
  "cluster" in place ? `cluster/${place.cluster}` : `${place.project}/${place.virtualCluster ?? ""}`;

test(`grants are alive exactly from their approval to their end, on two servers, seed ${SEED}`, {
  timeout: 120_000,
}, async () => {
  const seen = { alive: 0, over: 0, revoked: 0, steps: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    const random = randomOf(SEED * 1_000 + round);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
    const storage = createMemoryStorage();
    const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
    await cache.ready();
    const keysOf = (resource: string, namespaced = false) =>
      createResourceKeys("management", { group: names.managementGroup, resource, namespaced });
    const revisions = new Map<string, number>();
    const put = async (key: string, object: KubeObject): Promise<void> => {
      const value = encodeStoredValue(object);
      const before = revisions.get(key);
      const revision =
        before === undefined ? await storage.create(key, value) : await storage.update(key, value, before);
      revisions.set(key, revision);
    };
    const remove = async (key: string): Promise<void> => {
      const before = revisions.get(key);
      if (before !== undefined) await storage.delete(key, before);
      revisions.delete(key);
    };
    const uids = new Map<string, string>();
    let made = 0;
    const putTarget = async (place: Grant["place"]): Promise<void> => {
      const uid = `uid-${++made}`;
      uids.set(targetKey(place), uid);
      const version = { apiVersion: `${names.managementGroup}/v1` };
      if ("cluster" in place)
        return await put(keysOf("clusters").of("", place.cluster), {
          ...version,
          kind: "Cluster",
          metadata: { name: place.cluster, uid },
        });
      const { project, virtualCluster } = place;
      if (virtualCluster === undefined)
        return await put(keysOf("projects").of("", project), {
          ...version,
          kind: "Project",
          metadata: { name: project, uid },
          spec: { members: [{ kind: "User", name: "bob", clusterRole: "postern:project-viewer" }] },
        });
      const namespace = names.projectNamespace(project);
      await put(keysOf("virtualclusterinstances", true).of(namespace, virtualCluster), {
        ...version,
        kind: "VirtualClusterInstance",
        metadata: { name: virtualCluster, namespace, uid },
        spec: {},
      });
    };
    const places: readonly Grant["place"][] = [
      ...PROJECTS.flatMap((project) => [
        { project },
        ...CLUSTERS.map((virtualCluster) => ({ project, virtualCluster })),
      ]),
      ...CLUSTERS.map((cluster) => ({ cluster })),
    ];
    for (const place of places) await putTarget(place);

    const grants: Grant[] = [];
    const putGrant = (grant: Grant): Promise<void> =>
      put(keysOf("accessrequests").of("", grant.name), {
        apiVersion: `${names.managementGroup}/v1`,
        kind: "AccessRequest",
        metadata: { name: grant.name, uid: grant.uid },
        spec: { policy: { name: "x" }, target: { ...grant.place }, ...(grant.role === "" ? {} : { role: grant.role }) },
        status: {
          phase: grant.phase,
          requester: { user: grant.user, userUID: `uid-${grant.user}` },
          targetUID: grant.targetUid,
          ...(grant.phase === "Pending"
            ? {}
            : { approvedTimestamp: formatTimestamp(grant.from), expirationTimestamp: formatTimestamp(grant.until) }),
        },
      });

    const servers = [openServer(cache, manualTime(START)), openServer(cache, manualTime(START))];
    const approve = async (): Promise<void> => {
      const place = pick(places);
      const roles =
        "cluster" in place
          ? [""]
          : place.virtualCluster === undefined
            ? ["postern:project-user", "looks"]
            : ["view", "edit"];
      const from = Math.floor(pick(servers).time.clock.now() / 1_000) * 1_000;
      const grant: Grant = {
        name: `r${grants.length}`,
        uid: `r-${round}-${grants.length}`,
        user: pick(USERS),
        place,
        targetUid: pick([uids.get(targetKey(place)) ?? "", uids.get(targetKey(place)) ?? "", "gone"]),
        role: pick(roles),
        from,
        until: from + pick([1, 5, 60]) * MINUTE,
        phase: pick(["Approved", "Approved", "Pending"]),
      };
      grants.push(grant);
      await putGrant(grant);
    };
    const changePhase = async (): Promise<void> => {
      const grant = pick(grants.length === 0 ? [undefined] : grants);
      if (grant === undefined) return;
      if (grant.phase === "Pending") grant.phase = "Revoked";
      else if (grant.phase === "Approved" && random() < 0.7) grant.phase = "Revoked";
      await putGrant(grant);
    };
    const forget = async (): Promise<void> => {
      if (grants.length === 0) return;
      const grant = pick(grants);
      await remove(keysOf("accessrequests").of("", grant.name));
      grant.phase = "Revoked";
    };
    const pass = async (): Promise<void> => {
      const milliseconds = pick([0, 999, 1_000, 20_000, MINUTE, 5 * MINUTE]);
      for (const { time } of servers) time.advance(milliseconds);
    };
    const setClock = async (): Promise<void> => {
      const { time } = pick(servers);
      time.setTimeOfDay(time.clock.now() + pick([-86_400_000, -3_600_000, -30_000, 30_000, 3_600_000, 86_400_000]));
    };
    const replaceTarget = async (): Promise<void> => await putTarget(pick(places));

    for (let step = 0; step < STEPS; step++) {
      await pick([
        approve,
        approve,
        approve,
        changePhase,
        changePhase,
        forget,
        pass,
        pass,
        pass,
        setClock,
        replaceTarget,
      ])();
      await cache.refresh({ signal: AbortSignal.timeout(60_000) });
      for (const server of servers) {
        const alive = grants.filter((grant) => isAlive(grant, uids, server));
        seen.alive += alive.length;
        seen.over += server.over.size;
        seen.revoked += grants.filter(({ phase }) => phase === "Revoked").length;
        seen.steps++;
        for (const user of USERS) {
          const caller = userOf(user, server.grants);
          // A version is read before each decision.
          expect(server.projects.version + server.instances.version).toBeGreaterThan(0);
          for (const place of places) {
            const granted = alive
              .filter((grant) => grant.user === user && targetKey(grant.place) === targetKey(place))
              .map(({ role }) => role);
            const what = JSON.stringify({ round, step, user, place, seed: SEED });
            if ("cluster" in place) {
              const of = server.grants.clusters.of(place.cluster).filter(({ group }) => caller.groups.includes(group));
              expect(of.length, what).toBe(granted.length);
            } else if (place.virtualCluster === undefined) {
              const standing = user === "bob" ? ["postern:project-viewer"] : [];
              const roles = projectRolesOf(caller, server.projects.get(place.project), names);
              expect([...roles].sort(), what).toEqual([...new Set([...standing, ...granted])].sort());
            } else {
              const inProject = alive.filter(
                (grant) => grant.user === user && targetKey(grant.place) === `${place.project}/`,
              );
              const standing = inProject.some(({ role }) => role === "postern:project-user")
                ? ["edit"]
                : user === "bob"
                  ? ["view"]
                  : [];
              const roles = insideClusterRoles(
                caller,
                { project: place.project, virtualCluster: place.virtualCluster },
                { ...server, names },
              );
              expect([...roles].sort(), what).toEqual([...new Set([...standing, ...granted])].sort());
            }
          }
          // Keys with a scope have the one grant that they were made with, while it is alive.
          const restrictions = { scope: undefined, ruleSets: [] } as any;
          expect(server.grants.groupsOf({ restrictions }, { name: user, uid: `uid-${user}` })).toEqual([]);
          for (const grant of grants) {
            const bound = { rule: `accessrequests/${grant.name}`, ruleUid: grant.uid, terms: "", until: grant.until };
            const isOwn = grant.user === user && server.grants.isLive(grant.uid);
            expect(server.grants.groupsOf({ restrictions, grant: bound }, { name: user, uid: `uid-${user}` })).toEqual(
              isOwn ? [names.accessRequestGroup(grant.uid)] : [],
            );
          }
          // Another user of the same name inherits nothing.
          expect(server.grants.groupsOf({}, { name: user, uid: "other" })).toEqual([]);
        }
      }
    }
    for (const server of servers) server[Symbol.dispose]();
    await cache[Symbol.asyncDispose]();
    await storage[Symbol.asyncDispose]();
  }
  // The cases are not all of one kind.
  expect(seen.alive).toBeGreaterThan(seen.steps / 4);
  expect(seen.over).toBeGreaterThan(seen.steps / 4);
  expect(seen.revoked).toBeGreaterThan(seen.steps / 4);
});
