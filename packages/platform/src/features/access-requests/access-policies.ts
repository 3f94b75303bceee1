// All access policies in memory, by id and by project.

import type { AccessPolicyKind } from "@postern/api/access-request";
import type { PlatformNames } from "@postern/api/platform-names";
import { type PolicyVersion, PolicyVersionSource } from "@postern/apiserver/authorization/policy-version";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { type AccessPolicyState, readAccessPolicy } from "./access-policy-state.ts";
import { type PolicyName, policyId } from "./request-record.ts";

export const ACCESS_POLICIES = "accesspolicies";
export const CLUSTER_ACCESS_POLICIES = "clusteraccesspolicies";

export type AccessPolicies = PolicyVersion &
  Disposable & {
    get(name: PolicyName): AccessPolicyState | undefined;
    /** The policies of a project, and those of the platform. */
    reaching(project: string | undefined): Iterable<AccessPolicyState>;
    countIn(namespace: string): number;
  };

/** Begins to follow both views at once; a change is in it before the write that made it is answered. */
export function createAccessPolicies(deps: {
  readonly names: Pick<PlatformNames, "name" | "role" | "projectOf" | "projectNamespace">;
  readonly clusterPolicies: ViewPrefix;
  readonly projectPolicies: ViewPrefix;
  readonly scheduler: Scheduler;
  /** Takes faults of policies that cannot be read, which allow nothing. */
  readonly onError: (error: unknown) => void;
}): AccessPolicies {
  const { names, clusterPolicies, projectPolicies, scheduler, onError } = deps;
  const byKey = new Map<string, AccessPolicyState>();
  const byId = new Map<string, AccessPolicyState>();
  const byNamespace = new Map<string, Set<AccessPolicyState>>();
  const source = new PolicyVersionSource();
  const lost = new Set<string>();

  const remove = (key: string): void => {
    const before = byKey.get(key);
    if (before === undefined) return;
    byKey.delete(key);
    byId.delete(policyId(before));
    const others = byNamespace.get(before.namespace);
    others?.delete(before);
    if (others?.size === 0) byNamespace.delete(before.namespace);
  };
  const put = (kind: AccessPolicyKind, object: CachedObject): void => {
    remove(object.key);
    try {
      const decoded = object.decode();
      const { namespace = "" } = decoded.metadata;
      const project = namespace === "" ? undefined : names.projectOf(namespace);
      // A namespace without a project has no administrators whose policy it could be.
      if (namespace !== "" && project === undefined) return;
      const policy = readAccessPolicy(decoded, kind, project, names);
      byKey.set(object.key, policy);
      byId.set(policyId(policy), policy);
      byNamespace.set(namespace, (byNamespace.get(namespace) ?? new Set()).add(policy));
    } catch (error) {
      onError(error);
    }
  };
  const follow = (kind: AccessPolicyKind, { view, prefix }: ViewPrefix): Disposable =>
    followView({ view, prefix }, scheduler, {
      replace(objects) {
        lost.delete(prefix);
        for (const key of [...byKey.keys()]) if (key.startsWith(prefix)) remove(key);
        for (const object of objects) put(kind, object);
      },
      put: (object) => put(kind, object),
      delete: ({ key }) => remove(key),
      settled: () => source.changed(),
      lost: () => void lost.add(prefix),
    });
  const followers = [follow("ClusterAccessPolicy", clusterPolicies), follow("AccessPolicy", projectPolicies)];

  return {
    get version() {
      return source.version;
    },
    onChange: (listener) => source.onChange(listener),
    get: (name) => (lost.size === 0 ? byId.get(policyId(name)) : undefined),
    *reaching(project) {
      if (lost.size > 0) return;
      if (project !== undefined) yield* byNamespace.get(names.projectNamespace(project)) ?? [];
      yield* byNamespace.get("") ?? [];
    },
    countIn: (namespace) => byNamespace.get(namespace)?.size ?? 0,
    [Symbol.dispose]() {
      for (const follower of followers) follower[Symbol.dispose]();
    },
  };
}
