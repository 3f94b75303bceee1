// Decides how much of a request the audit log keeps.
// Source: k8s.io/apiserver/pkg/audit/policy/checker.go

import type { UserInfo } from "../authentication/user-info.ts";
import type { RequestInfo } from "../request/request-info.ts";
import type { AuditLevel, AuditStage } from "./audit-event.ts";

export type AuditDecision = {
  readonly level: AuditLevel;
  readonly omitStages: readonly AuditStage[];
  /** Whether bodies are kept without metadata.managedFields. */
  readonly omitManagedFields?: boolean;
};

/** The same for every request, or one decision for each. */
export type AuditPolicy = AuditDecision | AuditRules;

/** `user` is the authenticated user before impersonation; undefined without authentication. */
export type AuditRules = (user: UserInfo | undefined, info: RequestInfo) => AuditDecision;

export type AuditResources = {
  readonly group: string;
  /** A resource, resource and subresource, one of them as `*`, or `*` alone; absent means all of the group. */
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
};

/** A rule holds where every condition it names does. With neither resources nor URLs it holds for both kinds of requests. */
export type AuditRule = {
  readonly level: AuditLevel;
  readonly users?: readonly string[];
  readonly userGroups?: readonly string[];
  readonly verbs?: readonly string[];
  readonly resources?: readonly AuditResources[];
  readonly namespaces?: readonly string[];
  /** Exact paths, or prefixes that end in `*`. */
  readonly nonResourceURLs?: readonly string[];
  readonly omitStages?: readonly AuditStage[];
  /** Absent: as the policy says for all. */
  readonly omitManagedFields?: boolean | undefined;
};

const NONE: AuditDecision = { level: "None", omitStages: [] };

/** One line for every request, without its content. */
export const METADATA: AuditDecision = { level: "Metadata", omitStages: ["RequestReceived"] };

/** One line for every request as it comes in, and one for what came of it. */
export const METADATA_OF_ARRIVALS_TOO: AuditDecision = { level: "Metadata", omitStages: [] };

export type AuditPolicyDefaults = {
  /** In addition to those of each rule. */
  readonly omitStages?: readonly AuditStage[];
  readonly omitManagedFields?: boolean;
};

/** The first rule that holds decides; where none does, nothing is kept. */
export function createAuditPolicy(rules: readonly AuditRule[], defaults: AuditPolicyDefaults = {}): AuditRules {
  const { omitStages = [], omitManagedFields = false } = defaults;
  const decisions = rules.map((rule) => ({
    rule,
    decision: {
      level: rule.level,
      omitStages: [...omitStages, ...(rule.omitStages ?? [])],
      ...((rule.omitManagedFields ?? omitManagedFields) ? { omitManagedFields: true } : {}),
    },
  }));
  return (user, info) => decisions.find(({ rule }) => holds(rule, user, info))?.decision ?? NONE;
}

function holds(rule: AuditRule, user: UserInfo | undefined, info: RequestInfo): boolean {
  if (isGiven(rule.users) && !rule.users.includes(user?.name ?? "")) return false;
  if (isGiven(rule.userGroups) && !rule.userGroups.some((group) => user?.groups.includes(group))) return false;
  if (isGiven(rule.verbs) && !rule.verbs.includes(info.verb)) return false;
  const aboutResources = isGiven(rule.resources) || isGiven(rule.namespaces);
  if (aboutResources && info.isResourceRequest) return holdsForResource(rule, info);
  if (isGiven(rule.nonResourceURLs) && !info.isResourceRequest) {
    return rule.nonResourceURLs.some((pattern) => matchesPath(pattern, info.path));
  }
  return !aboutResources && !isGiven(rule.nonResourceURLs);
}

function holdsForResource(rule: AuditRule, info: RequestInfo): boolean {
  if (isGiven(rule.namespaces) && !rule.namespaces.includes(info.namespace)) return false;
  return !isGiven(rule.resources) || rule.resources.some((resources) => matchesResource(resources, info));
}

function matchesResource({ group, resources, resourceNames }: AuditResources, info: RequestInfo): boolean {
  if (group !== info.apiGroup) return false;
  if (isGiven(resourceNames) && !resourceNames.includes(info.name)) return false;
  if (!isGiven(resources)) return true;
  const { resource, subresource } = info;
  const patterns =
    subresource === "" ? ["*", resource] : ["*", `${resource}/${subresource}`, `*/${subresource}`, `${resource}/*`];
  return resources.some((pattern) => patterns.includes(pattern));
}

const matchesPath = (pattern: string, path: string): boolean =>
  pattern === "*" || pattern === path || (pattern.endsWith("*") && path.startsWith(pattern.slice(0, -1)));

const isGiven = <T>(list: readonly T[] | undefined): list is readonly T[] => list !== undefined && list.length > 0;
