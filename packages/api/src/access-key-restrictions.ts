// The restrictions of a key: the fields of scope and rules, and the reading of both.

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { type Infer, s } from "@postern/apimachinery/schema/builder";

export type ScopeRole = {
  /** The canonical name: `agent`, `vcluster`, `network-peer`, `platform-cli`, `workspace`, `metrics-writer`, `metrics-reader`, `scim`. */
  readonly role: string;
  readonly projects: readonly string[];
  readonly virtualClusters: readonly string[];
};

/** `*` counts only as a whole value; everything else is compared exactly. */
export type AccessKeyScope = {
  readonly roles: readonly ScopeRole[];
  readonly projects: readonly { readonly project: string }[];
  readonly spaces: readonly { readonly project: string; readonly space: string }[];
  readonly virtualClusters: readonly { readonly project: string; readonly virtualCluster: string }[];
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
    virtualClusters: entriesOf(scope["virtualClusters"], ({ project, virtualCluster }) => ({
      project: textOf(project),
      virtualCluster: textOf(virtualCluster),
    })),
    clusters: entriesOf(scope["clusters"], ({ cluster }) => ({ cluster: textOf(cluster) })),
  };
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

const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

/** One for all, since most lists of most keys are empty. */
const NONE: readonly never[] = [];

const textsOf = (value: JsonValue | undefined): readonly string[] =>
  isJsonArray(value) && value.length > 0 ? value.filter((item) => typeof item === "string") : NONE;

const objectsOf = (value: JsonValue | undefined): readonly JsonObject[] =>
  isJsonArray(value) ? value.filter(isJsonObject) : NONE;

const entriesOf = <T>(value: JsonValue | undefined, read: (entry: JsonObject) => T): readonly T[] => {
  const entries = objectsOf(value);
  return entries.length === 0 ? NONE : entries.map(read);
};

// The fields that narrow an access key: its scope, and the older rules.

export const accessKeyRule = s.object({
  verbs: s.list(s.string()).describe("Verbs to match. Empty matches all."),
  resources: s
    .list(
      s.object({
        group: s.string().describe("API group; empty for the core group."),
        resources: s
          .list(s.string())
          .describe(
            "Resources that match: pods, pods/log, * for all resources, pods/* for all subresources of pods, */scale for that subresource of all. With a wildcard the entries must not overlap. Empty: everything in the group.",
          ),
        resourceNames: s.list(s.string()).describe("Names of objects to match. Requires resources. Empty matches all."),
      }),
    )
    .describe("Resources to match. Empty matches all resources of all groups."),
  namespaces: s
    .list(s.string())
    .describe("Namespaces to match; the empty name matches cluster-scoped resources. Empty matches all."),
  nonResourceURLs: s.list(s.string()).describe("Non-resource paths to match. The last step may be *."),
  requestTargets: s
    .list(s.string({ enum: REQUEST_TARGETS }))
    .describe("Targets to match: the management API, a cluster, a space or a virtual cluster. Empty matches all."),
  cluster: s.string().describe("Cluster to match. If set, requests to other targets do not match."),
  virtualClusters: s
    .list(
      s.object({
        name: s.string().describe("Name of the virtual cluster. Empty matches all."),
        namespace: s.string().describe("Namespace of the virtual cluster. Empty matches all."),
      }),
    )
    .describe("Virtual clusters to match, for requests to virtual clusters. Empty matches all."),
});

export const accessKeyScope = s
  .object({
    roles: s
      .list(
        s.object({
          role: s
            .string()
            .describe(
              "Name of the role: agent, vcluster, network-peer, platform-cli, workspace, metrics-writer, metrics-reader or scim.",
            ),
          projects: s.list(s.string()).describe("Projects that the role applies to. Empty for all."),
          virtualClusters: s.list(s.string()).describe("Virtual clusters that the role applies to. Empty for all."),
        }),
      )
      .describe("Predefined sets of permissions."),
    projects: s
      .list(s.object({ project: s.string().describe("Name of the project; * for all.") }))
      .describe("Projects that the key may access, with everything in them."),
    spaces: s
      .list(
        s.object({
          project: s.string().describe("Name of the project."),
          space: s.string().describe("Name of the space; * for all."),
        }),
      )
      .describe("Spaces that the key may access."),
    virtualClusters: s
      .list(
        s.object({
          project: s.string().describe("Name of the project."),
          virtualCluster: s.string().describe("Name of the virtual cluster; * for all."),
        }),
      )
      .describe("Virtual clusters that the key may access."),
    clusters: s
      .list(s.object({ cluster: s.string().describe("Name of the cluster; * for all.") }))
      .describe("Clusters that the key may access."),
    rules: s
      .list(accessKeyRule)
      .deprecated("use spec.scope.projects, spec.scope.spaces and spec.scope.virtualClusters instead")
      .describe("Same as spec.rules. If both are set, both apply."),
  })
  .describe(
    "Limits the key to the listed projects, spaces, virtual clusters, clusters and roles. Unset: the key has all permissions of its owner.",
  );

/** A scope as clients write it. */
export type KeyScope = Infer<typeof accessKeyScope>;
