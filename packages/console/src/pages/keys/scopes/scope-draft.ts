// The draft of a scope, converted from and to the scope of the API.

import type { KeyScope } from "@postern/api/access-key-scope";
import { clusterSelectorText, parseClusterSelector } from "@postern/api/cluster-selector";

/** `selector` as `kubectl get -l` has it; with `name`, only that virtual cluster while it matches. */
export type SelectorRow = { readonly project: string; readonly selector: string; readonly name: string };

export const NO_SELECTOR: SelectorRow = { project: "", selector: "", name: "" };

/** Why a row is not complete; undefined for one that is, and for one that is empty. */
export function selectorFault({ project, selector }: SelectorRow): string | undefined {
  if (project === "" && selector.trim() === "") return undefined;
  try {
    parseClusterSelector(selector);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export type ScopeDraft = {
  readonly isLimited: boolean;
  readonly projects: readonly string[];
  /** `<project>/<name>`. */
  readonly virtualClusters: readonly string[];
  /** Virtual clusters by their labels. */
  readonly selectors: readonly SelectorRow[];
  readonly spaces: readonly string[];
  readonly clusters: readonly string[];
  readonly roles: readonly string[];
};

export const EMPTY_SCOPE: ScopeDraft = {
  isLimited: true,
  projects: [],
  virtualClusters: [],
  selectors: [],
  spaces: [],
  clusters: [],
  roles: [],
};

const split = (path: string): readonly [string, string] => {
  const [project = "", name = ""] = path.split("/", 2);
  return [project, name];
};

/** A LabelSelector, in the type of the API. */
const selectorOf = (text: string): SelectorOfEntry => parseClusterSelector(text) as SelectorOfEntry;
type SelectorOfEntry = NonNullable<NonNullable<KeyScope["virtualClusters"]>[number]["selector"]>;

/** Undefined for a scope without limits. */
export function scopeOf(draft: ScopeDraft): KeyScope | undefined {
  if (!draft.isLimited) return undefined;
  const { projects, virtualClusters, selectors, spaces, clusters, roles } = draft;
  // A whole project includes everything in it.
  const isLeft = (path: string): boolean => !projects.includes(split(path)[0]);
  const named = virtualClusters.filter(isLeft).map((path) => {
    const [project, virtualCluster] = split(path);
    return { project, virtualCluster };
  });
  const selected = selectors
    .filter((row) => row.project !== "" && selectorFault(row) === undefined && !projects.includes(row.project))
    .map(({ project, selector, name }) => ({
      project,
      ...(name === "" ? {} : { virtualCluster: name }),
      selector: selectorOf(selector),
    }));
  const left = { virtualClusters: [...named, ...selected], spaces: spaces.filter(isLeft) };
  return {
    ...(projects.length === 0 ? {} : { projects: projects.map((project) => ({ project })) }),
    ...(left.virtualClusters.length === 0 ? {} : { virtualClusters: left.virtualClusters }),
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
  virtualClusters: (scope?.virtualClusters ?? []).flatMap(({ project = "", virtualCluster = "", selector }) =>
    selector === undefined ? [`${project}/${virtualCluster}`] : [],
  ),
  selectors: (scope?.virtualClusters ?? []).flatMap(({ project = "", virtualCluster = "", selector }) =>
    selector === undefined ? [] : [{ project, name: virtualCluster, selector: clusterSelectorText(selector) }],
  ),
  spaces: (scope?.spaces ?? []).map(({ project = "", space = "" }) => `${project}/${space}`),
  clusters: (scope?.clusters ?? []).map(({ cluster = "" }) => cluster),
  roles: (scope?.roles ?? []).map(({ role = "" }) => role),
});
