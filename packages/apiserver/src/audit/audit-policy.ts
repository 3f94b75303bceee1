// Decides how much of a request the audit log records.
// Source: k8s.io/apiserver/pkg/audit/policy/checker.go

import type { UserInfo } from "../authentication/user-info.ts";
import type { RequestInfo } from "../request/request-info.ts";
import type { AuditLevel, AuditStage } from "./audit-event.ts";

export type AuditDecision = {
  readonly level: AuditLevel;
  readonly omitStages: readonly AuditStage[];
  /** Whether bodies are recorded without metadata.managedFields. */
  readonly omitManagedFields?: boolean;
};

/** One decision for all requests, or one for each. */
export type AuditPolicy = AuditDecision | AuditRules;

/** `user` is the authenticated user before impersonation; undefined without authentication. */
export type AuditRules = (user: UserInfo | undefined, info: RequestInfo) => AuditDecision;

export type AuditResources = {
  readonly group: string;
  /** Resource, or resource and subresource, such as `pods/log`. Either may be a star. Absent: all resources of the group. */
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
};

/** Matches requests that meet all of its conditions. Without resources, namespaces and URLs it matches requests of both kinds. */
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
  /** Absent: the default of the policy. */
  readonly omitManagedFields?: boolean | undefined;
};

const NONE: AuditDecision = { level: "None", omitStages: [] };

/** One event per request, without its content. */
export const METADATA: AuditDecision = { level: "Metadata", omitStages: ["RequestReceived"] };

/** One event for the arrival of a request, and one for its response. */
export const METADATA_OF_ALL_STAGES: AuditDecision = { level: "Metadata", omitStages: [] };

export type AuditPolicyDefaults = {
  /** Added to those of each rule. */
  readonly omitStages?: readonly AuditStage[];
  readonly omitManagedFields?: boolean;
};

/** The first rule that matches decides. Without one, nothing is recorded. */
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
  return (user, info) => decisions.find(({ rule }) => matches(rule, user, info))?.decision ?? NONE;
}

function matches(rule: AuditRule, user: UserInfo | undefined, info: RequestInfo): boolean {
  if (isGiven(rule.users) && !rule.users.includes(user?.name ?? "")) return false;
  if (isGiven(rule.userGroups) && !rule.userGroups.some((group) => user?.groups.includes(group))) return false;
  if (isGiven(rule.verbs) && !rule.verbs.includes(info.verb)) return false;
  const aboutResources = isGiven(rule.resources) || isGiven(rule.namespaces);
  if (aboutResources && info.isResourceRequest) return matchesResources(rule, info);
  if (isGiven(rule.nonResourceURLs) && !info.isResourceRequest) {
    return rule.nonResourceURLs.some((pattern) => matchesPath(pattern, info.path));
  }
  return !aboutResources && !isGiven(rule.nonResourceURLs);
}

function matchesResources(rule: AuditRule, info: RequestInfo): boolean {
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
