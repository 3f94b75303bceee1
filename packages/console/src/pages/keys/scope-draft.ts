// The draft of a scope, converted from and to the scope of the API.

import type { KeyScope } from "@postern/api/access-key-scope";

export type ScopeDraft = {
  readonly isLimited: boolean;
  readonly projects: readonly string[];
  /** `<project>/<name>`. */
  readonly virtualClusters: readonly string[];
  readonly spaces: readonly string[];
  readonly clusters: readonly string[];
  readonly roles: readonly string[];
};

export const EMPTY_SCOPE: ScopeDraft = {
  isLimited: true,
  projects: [],
  virtualClusters: [],
  spaces: [],
  clusters: [],
  roles: [],
};

const split = (path: string): readonly [string, string] => {
  const [project = "", name = ""] = path.split("/", 2);
  return [project, name];
};

/** Undefined for a scope without limits. */
export function scopeOf(draft: ScopeDraft): KeyScope | undefined {
  if (!draft.isLimited) return undefined;
  const { projects, virtualClusters, spaces, clusters, roles } = draft;
  // A whole project includes everything in it.
  const isLeft = (path: string): boolean => !projects.includes(split(path)[0]);
  const left = { virtualClusters: virtualClusters.filter(isLeft), spaces: spaces.filter(isLeft) };
  return {
    ...(projects.length === 0 ? {} : { projects: projects.map((project) => ({ project })) }),
    ...(left.virtualClusters.length === 0
      ? {}
      : {
          virtualClusters: left.virtualClusters.map((path) => {
            const [project, virtualCluster] = split(path);
            return { project, virtualCluster };
          }),
        }),
    ...(left.spaces.length === 0
      ? {}
      : {
          spaces: left.spaces.map((path) => {
            const [project, space] = split(path);
            return { project, space };
          }),
        }),
    ...(clusters.length === 0 ? {} : { clusters: clusters.map((cluster) => ({ cluster })) }),
    ...(roles.length === 0 ? {} : { roles: roles.map((role) => ({ role })) }),
  };
}

/** The part of a scope that the picker can show. */
export const draftOfScope = (scope: KeyScope | undefined): ScopeDraft => ({
  isLimited: scope !== undefined,
  projects: (scope?.projects ?? []).map(({ project = "" }) => project),
  virtualClusters: (scope?.virtualClusters ?? []).map(
    ({ project = "", virtualCluster = "" }) => `${project}/${virtualCluster}`,
  ),
  spaces: (scope?.spaces ?? []).map(({ project = "", space = "" }) => `${project}/${space}`),
  clusters: (scope?.clusters ?? []).map(({ cluster = "" }) => cluster),
  roles: (scope?.roles ?? []).map(({ role = "" }) => role),
});
