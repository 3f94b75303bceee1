// Maintains one binding inside a cluster for each group that represents a ClusterRole: in the whole cluster, or in one namespace.

import { isDeepStrictEqual } from "node:util";
import type { PlatformNames } from "@postern/api/platform-names";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { ApiClient } from "@postern/client/api-client";
import { createResourceClient, listPages, type ResourceClient } from "@postern/client/resource-client";
import { badGatewayError, unreachableError } from "../../../foundation/upstream/upstream-failure.ts";
import { asPlatformRequest } from "./cluster-refusal.ts";
import { deadline } from "./pause.ts";

const MANAGED_BY = "app.kubernetes.io/managed-by";

export type BindRolesDeps = {
  readonly names: Pick<PlatformNames, "name" | "insideRoleGroup">;
  /** Absent: in the whole cluster. */
  readonly namespace?: string;
  readonly scheduler: Scheduler;
  /** Default: 60 s. */
  readonly timeoutMs?: number;
};

const TIMEOUT_MS = 60_000;

type Binding = KubeObject & { readonly roleRef?: unknown; readonly subjects?: unknown };

/**
 * The binding has the name of the group it is for. Foreign bindings are left alone, ours are corrected. Rejects with ApiError 503 if that takes too
 * long: a cluster that tenants run may send its answer byte by byte.
 */
export async function bindRoles(
  client: ApiClient,
  clusterRoles: readonly string[],
  deps: BindRolesDeps,
  signal: AbortSignal,
): Promise<void> {
  using time = deadline(deps.scheduler, deps.timeoutMs ?? TIMEOUT_MS, tooSlow, signal);
  try {
    await correctBindings(client, clusterRoles, deps, time.signal);
  } catch (error) {
    throw time.signal.aborted ? time.signal.reason : error;
  }
}

async function correctBindings(
  client: ApiClient,
  clusterRoles: readonly string[],
  { names, namespace }: BindRolesDeps,
  signal: AbortSignal,
): Promise<void> {
  const resource = namespace === undefined ? "clusterrolebindings" : "rolebindings";
  const address = { group: RBAC_GROUP, version: "v1", resource, ...(namespace === undefined ? {} : { namespace }) };
  const bindings = createResourceClient<Binding>(client, address);
  const ask = <T>(work: Promise<T>): Promise<T> => asPlatformRequest("bind roles", work);

  const items = await ask(listBounded(bindings, { labelSelector: `${MANAGED_BY}=${names.name}`, signal }));
  // The manifests of an agent had the label up to now, and are no binding of these.
  const isOurs = (name: string): boolean => name.startsWith(names.insideRoleGroup(""));
  const found = items.map((binding) => [binding.metadata.name ?? "", binding] as const);
  const kept = new Map(found.filter(([name]) => isOurs(name)));
  const wanted = new Map(clusterRoles.map((role) => [names.insideRoleGroup(role), role]));
  for (const [name, { metadata }] of kept) {
    const role = wanted.get(name);
    // A roleRef cannot be changed: a binding with another one is replaced.
    if (role !== undefined && isAsWanted(kept.get(name), name, role)) continue;
    const { uid } = metadata;
    await ask(
      ignoring("NotFound", bindings.delete(name, { signal, ...(uid === undefined ? {} : { preconditions: { uid } }) })),
    );
    kept.delete(name);
  }
  for (const [group, role] of wanted) {
    if (kept.has(group)) continue;
    const binding = bindingOf(group, role, namespace, names.name);
    await ask(ignoring("AlreadyExists", bindings.create(binding, { signal })));
  }
}

/** There are as many bindings as roles that the platform grants there. */
const MAX_PAGES = 4;
const PAGE_SIZE = 100;

/** A cluster of a tenant may never end its list: rejects with ApiError 502 then. */
async function listBounded(
  bindings: ResourceClient<Binding>,
  options: Parameters<typeof listPages>[1],
): Promise<readonly Binding[]> {
  const items: Binding[] = [];
  let pages = 0;
  for await (const page of listPages(bindings, { ...options, pageSize: PAGE_SIZE })) {
    pages += 1;
    if (pages > MAX_PAGES) throw badGatewayError({ reason: "AnswerTooLarge", message: "it lists too many bindings" });
    for (const item of page.items) items.push(item);
  }
  return items;
}

const tooSlow = () => unreachableError({ reason: "ConnectTimeout", message: "it takes too long to answer" });

const roleRefOf = (clusterRole: string) => ({ apiGroup: RBAC_GROUP, kind: "ClusterRole", name: clusterRole });
const subjectsOf = (group: string) => [{ apiGroup: RBAC_GROUP, kind: "Group", name: group }];

const bindingOf = (group: string, role: string, namespace: string | undefined, manager: string): JsonObject => ({
  apiVersion: `${RBAC_GROUP}/v1`,
  kind: namespace === undefined ? "ClusterRoleBinding" : "RoleBinding",
  metadata: { name: group, labels: { [MANAGED_BY]: manager } },
  subjects: subjectsOf(group),
  roleRef: roleRefOf(role),
});

const isAsWanted = (binding: Binding | undefined, group: string, role: string): boolean =>
  isDeepStrictEqual({ ...roleRefOf(role) }, binding?.roleRef) &&
  isDeepStrictEqual(subjectsOf(group), binding?.subjects);

async function ignoring(reason: "NotFound" | "AlreadyExists", work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isApiError(error, reason)) throw error;
  }
}
