// Warns about names in the scope of a key that match nothing, and about values that are readable by users with fewer permissions than the key.

import type { KeyScope } from "@postern/api/access-key-scope";
import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { PlatformNames } from "@postern/api/platform-names";
import { indexPath } from "@postern/apimachinery/validation/field-error";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import type { ObjectLookup } from "../../../../foundation/lookup/object-lookup.ts";
import { type NamedObject, namesOne, unknownNames } from "../../../directory/unknown-names.ts";

export type ScopeWarningDeps = {
  readonly names: PlatformNames;
  readonly authorizer: Authorizer;
  readonly lookup: Pick<ObjectLookup, "project" | "cluster" | "virtualClusterInstance" | "spaceInstance">;
};

/** For the `warnOfWrite` of a resource. Warnings are no refusal: keys may be made before what they are for. */
export const scopeWarnings =
  (deps: ScopeWarningDeps) =>
  (written: CachedObject, context: RequestContext): Awaitable<void> => {
    // The store holds no other kind under this resource.
    const { spec } = written.decode() as OwnedAccessKey;
    warnOfReaders(spec, context, deps);
    return spec?.scope && warnOfUnknown(spec.scope, context, deps);
  };

async function warnOfUnknown(scope: KeyScope, context: RequestContext, deps: ScopeWarningDeps): Promise<void> {
  for (const text of await unknownNames(namedInScope(scope, deps), context, deps)) context.warnings.add(text);
}

/** Administrators of a project read the Secrets in its namespace. */
function warnOfReaders(
  spec: OwnedAccessKey["spec"],
  { warnings }: RequestContext,
  { names, lookup }: Pick<ScopeWarningDeps, "names" | "lookup">,
): void {
  const project = names.projectOf(spec?.secretRef?.namespace ?? "");
  if (project === undefined || lookup.project(project) === undefined || isLimitedTo(project, spec?.scope)) return;
  const text = `administrators of the project ${JSON.stringify(project)} can read the value, and the key is not limited to that project: set spec.scope, or a namespace of no project`;
  warnings.add(`spec.secretRef.namespace: ${text}`);
}

function isLimitedTo(project: string, scope: KeyScope | undefined): boolean {
  if (scope === undefined) return false;
  const { roles = [], projects = [], spaces = [], virtualClusters = [], clusters = [] } = scope;
  const places = [...projects, ...spaces, ...virtualClusters];
  return roles.length === 0 && clusters.length === 0 && places.every((place) => place.project === project);
}

/** Objects that a scope names, but for its stars. */
export function* namedInScope(scope: KeyScope, { names, lookup }: ScopeWarningDeps): Generator<NamedObject> {
  const { roles = [], projects = [], spaces = [], virtualClusters = [], clusters = [] } = scope;
  const projectAt = (path: string, name = ""): readonly NamedObject[] =>
    namesOne(name)
      ? [
          {
            path,
            kind: "project",
            resource: "projects",
            namespace: "",
            name,
            exists: lookup.project(name) !== undefined,
          },
        ]
      : [];
  for (const [at, { projects: own = [] }] of roles.entries()) {
    for (const [index, name] of own.entries()) {
      yield* projectAt(indexPath(`${indexPath("spec.scope.roles", at)}.projects`, index), name);
    }
  }
  for (const [at, { project }] of projects.entries()) {
    yield* projectAt(`${indexPath("spec.scope.projects", at)}.project`, project);
  }
  for (const [at, { project = "", virtualCluster: name = "" }] of virtualClusters.entries()) {
    const path = indexPath("spec.scope.virtualClusters", at);
    yield* projectAt(`${path}.project`, project);
    if (!namesOne(project) || !namesOne(name)) continue;
    const namespace = names.projectNamespace(project);
    const exists = lookup.virtualClusterInstance(namespace, name) !== undefined;
    const target = { kind: "virtual cluster", resource: "virtualclusterinstances", namespace, name, exists };
    yield { path: `${path}.virtualCluster`, ...target };
  }
  for (const [at, { project = "", space: name = "" }] of spaces.entries()) {
    const path = indexPath("spec.scope.spaces", at);
    yield* projectAt(`${path}.project`, project);
    if (!namesOne(project) || !namesOne(name)) continue;
    const namespace = names.projectNamespace(project);
    const exists = lookup.spaceInstance(namespace, name) !== undefined;
    yield { path: `${path}.space`, kind: "space", resource: "spaceinstances", namespace, name, exists };
  }
  for (const [at, { cluster: name = "" }] of clusters.entries()) {
    if (!namesOne(name)) continue;
    const exists = lookup.cluster(name) !== undefined;
    const path = `${indexPath("spec.scope.clusters", at)}.cluster`;
    yield { path, kind: "cluster", resource: "clusters", namespace: "", name, exists };
  }
}
