// Maintains `status.quotas` of projects: the limits that are enforced, and how much of them is used.

import { projectsNamed, restrictionNames, restrictionsOf } from "@postern/api/access-key-restrictions";
import type { Project } from "@postern/api/project";
import { COUNTED_RESOURCES, type CountedResource, enforcedQuotas, type QuotaScope } from "@postern/api/project-quotas";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import { followView } from "@postern/apiserver/cache/view-informer";
import { updateStatus } from "@postern/apiserver/controllers/controlled-objects";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { AccessKeyOwner } from "../../access-keys/access-key-owner.ts";
import { ownerOf } from "../../access-keys/access-key-owner.ts";
import type { KeyQuota } from "../../access-keys/key-quota.ts";

/** For one project: otherwise every change of its objects would be a write. */
const BETWEEN_WRITES_MS = 1000;

type Quotas = NonNullable<NonNullable<Project["status"]>["quotas"]>;
/** Amounts by resource. */
type Used = { [resource: string]: string };
type Limits = { readonly [scope in QuotaScope]: { readonly [resource: string]: string } };

const readScope = createMemberReader({ spec: { scope: true } });

export function createProjectQuotas(
  port: Omit<ControllerPort, "resources">,
  { names, lookup, own }: Foundation,
  keyQuota: KeyQuota,
): Controller {
  const [projects, accessKeys] = [own("Project"), own("OwnedAccessKey")];
  /** In the namespaces of projects. */
  const instances = [own("VirtualClusterInstance"), own("SpaceInstance")];
  const { clock, scheduler } = port.runtime;
  /** Projects with enforced quotas, by key, and when their status was written last, by the clock's `elapsed`. */
  const limited = new Map<string, number>();
  const queue = new WorkQueue(port, { name: "project_quota", process });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    // Stored objects have gone through the schema of their kind.
    const project = projects.view.get(key)?.decode() as Project | undefined;
    if (project === undefined || isBeingDeleted(project)) return void limited.delete(key);
    const limits = { project: enforcedQuotas(project, "project"), user: enforcedQuotas(project, "user") };
    const isLimited = !isEmpty(limits.project) || !isEmpty(limits.user);
    const wait = (limited.get(key) ?? Number.NEGATIVE_INFINITY) + BETWEEN_WRITES_MS - clock.elapsed();
    if (isLimited && wait > 0) return queue.addAfter(key, wait);
    if (isLimited) limited.set(key, limited.get(key) ?? Number.NEGATIVE_INFINITY);
    else limited.delete(key);
    const quotas = isLimited ? await usageOf(project, limits) : undefined;
    if (equalJson(project.status?.quotas, quotas)) return;
    const transform = (current: KubeObject): KubeObject => ({ ...current, status: withQuotas(current, quotas) });
    await updateStatus(port, projects, project, transform, signal);
    if (isLimited) limited.set(key, clock.elapsed());
  }

  async function usageOf({ metadata: { name = "" } }: Project, limits: Limits): Promise<Quotas> {
    const used: Used = {};
    const [users, teams] = [new Map<string, Used>(), new Map<string, Used>()];
    for (const resource of COUNTED_RESOURCES) {
      if (limits.project[resource] === undefined && limits.user[resource] === undefined) continue;
      const owners = await ownersOf(resource, name);
      if (limits.project[resource] !== undefined) used[resource] = String(owners.length);
      if (limits.user[resource] === undefined) continue;
      const namesOf = (kind: AccessKeyOwner["kind"]) =>
        owners.flatMap((owner) => (owner?.kind === kind ? [owner.name] : []));
      addUsage(users, resource, namesOf("user"));
      addUsage(teams, resource, namesOf("team"));
    }
    return {
      ...(isEmpty(limits.project) ? {} : { project: { limit: limits.project, used } }),
      ...(isEmpty(limits.user)
        ? {}
        : {
            user: { limit: limits.user, used: { users: Object.fromEntries(users), teams: Object.fromEntries(teams) } },
          }),
    };
  }

  const ownersOf = async (
    resource: CountedResource,
    project: string,
  ): Promise<readonly (AccessKeyOwner | undefined)[]> =>
    resource === "ownedaccesskeys"
      ? keyQuota.countedIn(project)
      : lookup.ownersIn(resource, names.projectNamespace(project)).map((owner) => ownerOf(owner ?? {}));

  const recount = (project: string | undefined): void => {
    const key = project === undefined ? undefined : projects.keys.of("", project);
    if (key !== undefined && limited.has(key)) queue.add(key);
  };
  const aliases = restrictionNames(names.name);
  const recountScope = (object: CachedObject | undefined): void => {
    // Most servers limit no project, and keys are written often.
    if (object === undefined || limited.size === 0) return;
    const { spec } = object.read(readScope);
    const scope = (spec ?? {}) as { readonly [member: string]: JsonValue };
    for (const project of projectsNamed(restrictionsOf(scope, aliases))) recount(project);
  };

  const following = [
    followKeys(projects, scheduler, (key) => queue.add(key)),
    ...instances.map((resource) =>
      followKeys(resource, scheduler, (key) => recount(names.projectOf(resource.keys.parse(key).namespace))),
    ),
    followView({ view: accessKeys.view, prefix: accessKeys.keys.prefix }, scheduler, {
      replace() {
        for (const key of limited.keys()) queue.add(key);
      },
      put(object, previous) {
        recountScope(previous);
        recountScope(object);
      },
      delete: recountScope,
    }),
  ];
  return createQueueController(queue, following);
}

const isEmpty = (limit: object): boolean => Object.keys(limit).length === 0;

/** One more for each name in the list. */
function addUsage(usage: Map<string, Used>, resource: CountedResource, names: readonly string[]): void {
  for (const name of names) {
    const used = usage.get(name) ?? {};
    used[resource] = String(Number(used[resource] ?? 0) + 1);
    usage.set(name, used);
  }
}

function withQuotas({ status }: Project, quotas: Quotas | undefined): Project["status"] {
  const { quotas: _, ...others } = status ?? {};
  return quotas === undefined ? others : { ...others, quotas };
}
