// The restrictions of a key as the authorizer reads them: scope and rules.

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { objectsOf, textOf, textsOf } from "@postern/apimachinery/json/lenient-json";
import type { LabelRequirement } from "@postern/apimachinery/selectors/label-requirement";

export type ScopeRole = {
  /** The canonical name: `agent`, `vcluster`, `network-peer`, `platform-cli`, `workspace`, `metrics-writer`, `metrics-reader`, `scim`. */
  readonly role: string;
  readonly projects: readonly string[];
  readonly virtualClusters: readonly string[];
};

/** Virtual clusters of a project. With `labels`, an empty name is any name; without, it is none. */
export type VirtualClusterEntry = {
  readonly project: string;
  readonly virtualCluster: string;
  /** Requirements for the labels that they have now, all of which must hold. Absent: labels do not matter. */
  readonly labels?: readonly LabelRequirement[];
};

/** `*` counts only as a whole value; everything else is compared exactly. */
export type AccessKeyScope = {
  readonly roles: readonly ScopeRole[];
  readonly projects: readonly { readonly project: string }[];
  readonly spaces: readonly { readonly project: string; readonly space: string }[];
  readonly virtualClusters: readonly VirtualClusterEntry[];
  readonly clusters: readonly { readonly cluster: string }[];
};

export type TargetKind = "Management" | "Cluster" | "ProjectSpace" | "ProjectVirtualCluster";

/** One deprecated rule, as the interface describes it. An empty list leaves its field open. */
export type AccessKeyRule = {
  readonly verbs: readonly string[];
  readonly resources: readonly {
    readonly group: string;
    readonly resources: readonly string[];
    readonly resourceNames: readonly string[];
  }[];
  readonly namespaces: readonly string[];
  readonly nonResourceURLs: readonly string[];
  readonly requestTargets: readonly TargetKind[];
  readonly cluster: string;
  readonly virtualClusters: readonly { readonly name: string; readonly namespace: string }[];
};

/** Each part that is present must open a request; at least one of them is. */
export type AccessKeyRestrictions = {
  readonly scope: AccessKeyScope | undefined;
  /** Rule sets of which each must have a rule that matches: `spec.rules`, and `spec.scope.rules` of existing clients. */
  readonly ruleSets: readonly (readonly AccessKeyRule[])[];
};

/** Below users and teams these are about access keys, and about what was made with them; a star is about all that lies there. */
export const KEY_SUBRESOURCES: readonly string[] = ["accesskeys", "credentials", "*"];

/** The canonical names of roles. */
export const SCOPE_ROLES = [
  "agent",
  "vcluster",
  "network-peer",
  "platform-cli",
  "workspace",
  "metrics-writer",
  "metrics-reader",
  "scim",
] as const;

export const REQUEST_TARGETS = ["Management", "Cluster", "ProjectSpace", "ProjectVirtualCluster"] as const;

/** Names that differ with the platform's. */
export type RestrictionNames = {
  /** Other spellings of `platform-cli`. */
  readonly roleAliases: readonly string[];
  /** The member of spec.scope that existing clients set instead of spec.allowPlatformCli. */
  readonly cliFlag: string;
};

/** `loft` → `loft-cli`, `loftCLI` and `allowLoftCli`. */
export function restrictionNames(platformName: string): RestrictionNames {
  const word = platformName.replaceAll(/(?:^|-)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  return { roleAliases: [`${platformName}-cli`, `${platformName}CLI`], cliFlag: `allow${word}Cli` };
}

export const canonicalRole = (role: string, { roleAliases }: RestrictionNames): string =>
  roleAliases.includes(role) ? "platform-cli" : role;

/**
 * Restrictions that the spec of a key sets; undefined without any. `spec.rules` and `spec.scope.rules` are two rule sets, both of
 * which apply. A scope with nothing in it but rules leaves the decision to them; one with nothing in it at all allows nothing. The
 * command-line flags are entries of the scope: without a scope, or where it holds rules alone, they allow nothing more.
 */
export function restrictionsOf(spec: JsonObject, names: RestrictionNames): AccessKeyRestrictions | undefined {
  // Most keys have none.
  if (spec["scope"] === undefined && spec["rules"] === undefined) return undefined;
  const scope = isJsonObject(spec["scope"]) ? spec["scope"] : undefined;
  const ruleSets = [readRules(spec["rules"]), readRules(scope?.["rules"])].filter((rules) => rules.length > 0);
  if (scope === undefined) return ruleSets.length === 0 ? undefined : { scope: undefined, ruleSets };
  const entries = readEntries(scope, names);
  const isEmpty = Object.values(entries).every((list) => list.length === 0);
  if (isEmpty && objectsOf(scope["rules"]).length > 0) return { scope: undefined, ruleSets };
  const opensCli = spec["allowPlatformCli"] === true || scope[names.cliFlag] === true;
  return { scope: opensCli ? { ...entries, roles: [...entries.roles, PLATFORM_CLI] } : entries, ruleSets };
}

/**
 * The projects that a scope opens by name, each once. A star opens what is not named. Roles do not count: each has what a program of the platform
 * needs in a project, and keys of control planes have nothing else.
 */
export function projectsNamed(restrictions: AccessKeyRestrictions | undefined): readonly string[] {
  const { projects = NONE, spaces = NONE, virtualClusters = NONE } = restrictions?.scope ?? {};
  if (projects.length + spaces.length + virtualClusters.length === 0) return NONE;
  const named = [...projects, ...spaces, ...virtualClusters].map(({ project }) => project);
  return [...new Set(named)].filter((project) => project !== "" && project !== "*");
}

const PLATFORM_CLI: ScopeRole = { role: "platform-cli", projects: [], virtualClusters: [] };

function readEntries(scope: JsonObject, names: RestrictionNames): AccessKeyScope {
  return {
    roles: entriesOf(scope["roles"], (entry) => ({
      role: canonicalRole(textOf(entry["role"]), names),
      projects: textsOf(entry["projects"]),
      virtualClusters: textsOf(entry["virtualClusters"]),
    })),
    projects: entriesOf(scope["projects"], ({ project }) => ({ project: textOf(project) })),
    spaces: entriesOf(scope["spaces"], ({ project, space }) => ({
      project: textOf(project),
      space: textOf(space),
    })),
    virtualClusters: entriesOf(scope["virtualClusters"], ({ project, virtualCluster, selector }) => ({
      project: textOf(project),
      virtualCluster: textOf(virtualCluster),
      ...(selector === undefined ? {} : { labels: readSelector(selector) }),
    })),
    clusters: entriesOf(scope["clusters"], ({ cluster }) => ({ cluster: textOf(cluster) })),
  };
}

const OPERATORS: ReadonlyMap<JsonValue | undefined, LabelRequirement["operator"]> = new Map([
  ["In", "in"],
  ["NotIn", "notin"],
  ["Exists", "exists"],
  ["DoesNotExist", "!"],
] as const);

/** No labels meet it. */
const UNREADABLE: readonly LabelRequirement[] = [{ key: "", operator: "in", values: [] }];

/** The requirements of a LabelSelector. One that validation would refuse, and one that requires nothing, selects nothing. */
function readSelector(selector: JsonValue): readonly LabelRequirement[] {
  if (!isJsonObject(selector)) return UNREADABLE;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  if (!isJsonObject(matchLabels) || !isJsonArray(matchExpressions)) return UNREADABLE;
  const requirements: LabelRequirement[] = [];
  for (const [key, value] of Object.entries(matchLabels)) {
    if (typeof value !== "string") return UNREADABLE;
    requirements.push({ key, operator: "in", values: [value] });
  }
  for (const expression of matchExpressions) {
    const { key, operator: word, values } = isJsonObject(expression) ? expression : {};
    const operator = OPERATORS.get(word);
    if (typeof key !== "string" || operator === undefined) return UNREADABLE;
    requirements.push({ key, operator, values: textsOf(values) });
  }
  return requirements.length === 0 ? UNREADABLE : requirements;
}

const readRules = (rules: JsonValue | undefined): readonly AccessKeyRule[] =>
  objectsOf(rules).map((rule) => ({
    verbs: textsOf(rule["verbs"]),
    resources: objectsOf(rule["resources"]).map((entry) => ({
      group: textOf(entry["group"]),
      resources: textsOf(entry["resources"]),
      resourceNames: textsOf(entry["resourceNames"]),
    })),
    namespaces: textsOf(rule["namespaces"]),
    nonResourceURLs: textsOf(rule["nonResourceURLs"]),
    // Validation lets no other values in.
    requestTargets: textsOf(rule["requestTargets"]) as readonly TargetKind[],
    cluster: textOf(rule["cluster"]),
    virtualClusters: objectsOf(rule["virtualClusters"]).map((entry) => ({
      name: textOf(entry["name"]),
      namespace: textOf(entry["namespace"]),
    })),
  }));

/** One for all, since most lists of most keys are empty. */
const NONE: readonly never[] = [];

const entriesOf = <T>(value: JsonValue | undefined, read: (entry: JsonObject) => T): readonly T[] => {
  const entries = objectsOf(value);
  return entries.length === 0 ? NONE : entries.map(read);
};
