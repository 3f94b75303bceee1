// Describes in words what the scope of an access key allows, and what it does not.

import type { KeyScope } from "@postern/api/access-key-scope";
import { clusterSelectorText } from "@postern/api/cluster-selector";
import { counted, named, t } from "../../../texts/text.tsx";

type Limits = { readonly scope?: KeyScope | undefined; readonly rules?: readonly unknown[] | undefined };

/** A short phrase for a table. */
export function scopeSummary({ scope, rules }: Limits): string {
  const parts = scope === undefined ? [] : partsOf(scope);
  const ruleCount = (rules?.length ?? 0) + (scope?.rules?.length ?? 0);
  if (scope === undefined && ruleCount === 0) return t("scope.full");
  if (ruleCount > 0) parts.push(counted("scope.rules", ruleCount));
  return parts.length === 0 ? t("scope.nothing") : parts.join(", ");
}

type ClusterEntry = NonNullable<KeyScope["virtualClusters"]>[number];

/** Entries by name, and entries by labels. */
function clustersOf(entries: readonly ClusterEntry[] = []) {
  return {
    byName: entries.filter(({ selector }) => selector === undefined),
    byLabels: entries.filter(({ selector }) => selector !== undefined),
  };
}

/** Such as `shop env=dev`. */
const selectedName = ({ project = "", virtualCluster = "", selector }: ClusterEntry): string =>
  `${project}${virtualCluster === "" ? "" : `/${virtualCluster}`} ${clusterSelectorText(selector)}`;

function partsOf({ projects, virtualClusters, spaces, clusters, roles }: KeyScope): string[] {
  const { byName, byLabels } = clustersOf(virtualClusters);
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
    byName.map(({ project = "", virtualCluster = "" }) => `${project}/${virtualCluster}`),
    (name) => t("scope.virtualCluster", { name }),
    (count) => counted("scope.virtualClusters", count),
  );
  add(
    byLabels.map(selectedName),
    (name) => t("scope.selected", { name }),
    (count) => counted("scope.selecteds", count),
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

/** A sentence, and the names behind a number in it. */
type Words = { readonly text: string; readonly names?: readonly string[] };
export type ScopeWords = { readonly can: readonly Words[]; readonly cannot: readonly string[] };

/** More of one kind are one sentence with their number. */
const TOLD_APART = 3;

/**
 * Sentences. A key without a scope can do everything that its owner may do. `cannot` has only what surprises: that a key reaches nothing beside its scope
 * does not.
 */
export function scopeWords({ scope, rules }: Limits): ScopeWords {
  const ruleCount = (rules?.length ?? 0) + (scope?.rules?.length ?? 0);
  const limited = ruleCount === 0 ? [] : [{ text: counted("scope.words.rules", ruleCount) }];
  if (scope === undefined) {
    return ruleCount === 0
      ? { can: [{ text: t("scope.words.everything") }, { text: t("scope.words.follows") }], cannot: [] }
      : { can: limited, cannot: [] };
  }
  const { projects = [], virtualClusters = [], spaces = [], clusters = [], roles = [] } = scope;
  const clusterEntries = clustersOf(virtualClusters);
  const can = [
    ...told(
      projects.map(({ project = "" }) => ({
        name: project,
        text: project === "*" ? t("scope.words.allProjects") : t("scope.words.project", { project }),
      })),
      (count) => counted("scope.words.projects", count),
    ),
    ...told(
      clusterEntries.byName.map(({ project = "", virtualCluster = "" }) => ({
        name: `${project}/${virtualCluster}`,
        text:
          virtualCluster === "*"
            ? t("scope.words.allVirtualClusters", { project })
            : t("scope.words.virtualCluster", { project, virtualCluster }),
      })),
      (count) => counted("scope.words.virtualClusters", count),
    ),
    ...told(
      clusterEntries.byLabels.map((entry) => ({
        name: selectedName(entry),
        text: t(entry.virtualCluster === undefined ? "scope.words.selected" : "scope.words.selectedOne", {
          project: entry.project ?? "",
          virtualCluster: entry.virtualCluster ?? "",
          selector: clusterSelectorText(entry.selector),
        }),
      })),
      (count) => counted("scope.words.selecteds", count),
    ),
    ...told(
      spaces.map(({ project = "", space = "" }) => ({
        name: `${project}/${space}`,
        text: t("scope.words.space", { project, space }),
      })),
      (count) => counted("scope.words.spaces", count),
    ),
    ...told(
      clusters.map(({ cluster = "" }) => ({
        name: cluster,
        text: cluster === "*" ? t("scope.words.allClusters") : t("scope.words.cluster", { cluster }),
      })),
      (count) => counted("scope.words.clusters", count),
    ),
    ...roles.map(({ role = "" }) => ({ text: named("scope.words.role", role) })),
    ...limited,
    { text: t("scope.words.always") },
  ];
  const reached = projects.length + virtualClusters.length + spaces.length + clusters.length + roles.length;
  const cannot = [
    ...(reached + ruleCount === 0 ? [t("scope.words.nothing")] : []),
    // "Everything in the project" sounds as if it did.
    ...(projects.length === 0 ? [] : [t("scope.words.noKeys"), t("scope.words.noPeople")]),
  ];
  return { can, cannot };
}

/** A name with a star is a sentence of its own. */
function told(
  entries: readonly { readonly name: string; readonly text: string }[],
  many: (count: number) => string,
): readonly Words[] {
  if (entries.length <= TOLD_APART) return entries.map(({ text }) => ({ text }));
  const isAll = ({ name }: { readonly name: string }): boolean => name.endsWith("*");
  const names = entries.filter((entry) => !isAll(entry)).map(({ name }) => name);
  return [
    ...entries.filter(isAll).map(({ text }) => ({ text })),
    ...(names.length === 0 ? [] : [{ text: many(names.length), names }]),
  ];
}
