// Describes in words what the scope of an access key allows, and what it does not.

import type { KeyScope } from "@postern/api/access-key-scope";
import { counted, named, t } from "../../texts/text.tsx";

type Limits = { readonly scope?: KeyScope | undefined; readonly rules?: readonly unknown[] | undefined };

/** A short phrase for a table. */
export function scopeSummary({ scope, rules }: Limits): string {
  const parts = scope === undefined ? [] : partsOf(scope);
  const ruleCount = (rules?.length ?? 0) + (scope?.rules?.length ?? 0);
  if (scope === undefined && ruleCount === 0) return t("scope.full");
  if (ruleCount > 0) parts.push(counted("scope.rules", ruleCount));
  return parts.length === 0 ? t("scope.nothing") : parts.join(", ");
}

function partsOf({ projects, virtualClusters, spaces, clusters, roles }: KeyScope): string[] {
  const parts: string[] = [];
  const add = (list: readonly string[], one: (name: string) => string, many: (count: number) => string): void => {
    const [only] = list;
    if (only !== undefined) parts.push(list.length === 1 ? one(only) : many(list.length));
  };
  add(
    (projects ?? []).map(({ project = "" }) => project),
    (name) => (name === "*" ? t("scope.allProjects") : t("scope.project", { name })),
    (count) => counted("scope.projects", count),
  );
  add(
    (virtualClusters ?? []).map(({ project = "", virtualCluster = "" }) => `${project}/${virtualCluster}`),
    (name) => t("scope.virtualCluster", { name }),
    (count) => counted("scope.virtualClusters", count),
  );
  add(
    (spaces ?? []).map(({ project = "", space = "" }) => `${project}/${space}`),
    (name) => t("scope.space", { name }),
    (count) => counted("scope.spaces", count),
  );
  add(
    (clusters ?? []).map(({ cluster = "" }) => cluster),
    (name) => (name === "*" ? t("scope.allClusters") : t("scope.cluster", { name })),
    (count) => counted("scope.clusters", count),
  );
  add(
    (roles ?? []).map(({ role = "" }) => role),
    (name) => t("scope.role", { name }),
    (count) => counted("scope.roles", count),
  );
  return parts;
}

export type ScopeWords = { readonly can: readonly string[]; readonly cannot: readonly string[] };

/** Sentences. A key without a scope can do everything that its owner may do. */
export function scopeWords({ scope, rules }: Limits): ScopeWords {
  const ruleCount = (rules?.length ?? 0) + (scope?.rules?.length ?? 0);
  const limited = ruleCount === 0 ? [] : [counted("scope.words.rules", ruleCount)];
  if (scope === undefined) {
    return ruleCount === 0
      ? { can: [t("scope.words.everything"), t("scope.words.follows")], cannot: [t("scope.words.neverMore")] }
      : { can: limited, cannot: [t("scope.words.neverMore")] };
  }
  const { projects = [], virtualClusters = [], spaces = [], clusters = [], roles = [] } = scope;
  const can = [
    ...projects.map(({ project = "" }) =>
      project === "*" ? t("scope.words.allProjects") : t("scope.words.project", { project }),
    ),
    ...virtualClusters.map(({ project = "", virtualCluster = "" }) =>
      virtualCluster === "*"
        ? t("scope.words.allVirtualClusters", { project })
        : t("scope.words.virtualCluster", { project, virtualCluster }),
    ),
    ...spaces.map(({ project = "", space = "" }) => t("scope.words.space", { project, space })),
    ...clusters.map(({ cluster = "" }) =>
      cluster === "*" ? t("scope.words.allClusters") : t("scope.words.cluster", { cluster }),
    ),
    ...roles.map(({ role = "" }) => named("scope.words.role", role)),
    ...limited,
    t("scope.words.always"),
  ];
  const cannot = [
    ...otherProjects(scope),
    t("scope.words.noKeys"),
    t("scope.words.noPeople"),
    t("scope.words.neverMore"),
  ];
  return { can, cannot };
}

function otherProjects({ projects = [], virtualClusters = [], spaces = [] }: KeyScope): readonly string[] {
  if (projects.some(({ project }) => project === "*")) return [];
  const reached = projects.length + virtualClusters.length + spaces.length;
  return [t(reached === 0 ? "scope.words.noProject" : "scope.words.noOtherProject")];
}
