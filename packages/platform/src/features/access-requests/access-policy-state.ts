// An access policy as the server keeps it in memory: compiled once, so that a refusal costs look-ups only.

import type { AccessPolicy, AccessPolicyTarget } from "@postern/api/access-policy";
import type { AccessPolicyKind } from "@postern/api/access-request";
import type { PlatformNames } from "@postern/api/platform-names";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { compilePattern, type Pattern } from "@postern/apimachinery/schema/pattern/pattern";
import type { CelExpression } from "@postern/cel/cel-expression";
import { insideRoleOf, projectRoleOf } from "../authorization/role-aliases.ts";
import type { Person } from "./person.ts";
import { compilePolicyExpression, policyExpressionHolds } from "./policy-expression.ts";
import type { AccessPlace, PolicyName } from "./request-record.ts";

type People = { readonly users: ReadonlySet<string>; readonly teams: ReadonlySet<string> };

export type CompiledTarget = {
  readonly kind: AccessPolicyTarget["kind"];
  /** "*" means all. */
  readonly projects: ReadonlySet<string>;
  readonly names: ReadonlySet<string>;
  readonly labels: readonly (readonly [key: string, value: string])[] | undefined;
  readonly roles: ReadonlySet<string>;
};

export type AccessPolicyState = PolicyName & {
  readonly uid: string;
  readonly generation: number;
  readonly isOff: boolean;
  readonly requesters: People & { readonly expression: CelExpression | undefined };
  readonly targets: readonly CompiledTarget[];
  readonly maxDurationSeconds: number;
  readonly approvers: People & { readonly count: number; readonly allowRequester: boolean };
  readonly autoApprove: CelExpression | undefined;
  readonly allowEmergency: boolean;
  readonly reason: { readonly required: boolean; readonly pattern: Pattern | undefined; readonly source: string };
};

/** Throws for expressions and patterns that do not compile; validation refuses them. */
export function readAccessPolicy(
  object: KubeObject,
  kind: AccessPolicyKind,
  project: string | undefined,
  names: Pick<PlatformNames, "name" | "role">,
): AccessPolicyState {
  // The store holds no other kind under this resource.
  const { metadata, spec } = object as AccessPolicy;
  const { requesters, approvers = {}, autoApprove, reason = {} } = spec;
  return {
    kind,
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    generation: metadata.generation ?? 1,
    isOff: spec.disabled === true || isBeingDeleted({ metadata }),
    requesters: {
      ...peopleOf(requesters),
      expression:
        requesters.expression === undefined ? undefined : compilePolicyExpression(requesters.expression, "requester"),
    },
    targets: spec.targets.map((target) => compileTarget(target, project, names)),
    maxDurationSeconds: spec.maxDurationSeconds,
    approvers: {
      ...peopleOf(approvers),
      count: approvers.count ?? 1,
      allowRequester: approvers.allowRequester === true,
    },
    autoApprove: autoApprove === undefined ? undefined : compilePolicyExpression(autoApprove, "approval"),
    allowEmergency: spec.allowEmergency === true,
    reason: {
      required: reason.required === true || reason.pattern !== undefined,
      pattern: reason.pattern === undefined ? undefined : compilePattern(reason.pattern),
      source: reason.pattern ?? "",
    },
  };
}

const peopleOf = ({
  users = [],
  teams = [],
}: {
  readonly users?: readonly string[];
  readonly teams?: readonly string[];
}): People => ({ users: new Set(users), teams: new Set(teams) });

function compileTarget(
  { kind, projects, names: objects = [], selector, roles = [] }: AccessPolicyTarget,
  project: string | undefined,
  names: Pick<PlatformNames, "name" | "role">,
): CompiledTarget {
  const roleOf = (role: string) => (kind === "Project" ? projectRoleOf(role, names) : insideRoleOf(role, names));
  return {
    kind,
    // A policy of a project reaches nothing outside of it, whatever is written in it.
    projects: new Set(project === undefined ? projects : [project]),
    names: new Set(objects),
    labels: selector === undefined ? undefined : Object.entries(selector.matchLabels ?? {}),
    roles: new Set(roles.map(roleOf)),
  };
}

export type Labels = { readonly [key: string]: string };

/** Whether the policy offers the role at the place. `labelsOf` are those of the virtual cluster or cluster as it is now. */
export const offersAccess = (
  { targets }: AccessPolicyState,
  place: AccessPlace,
  role: string,
  labelsOf: (place: AccessPlace) => Labels,
): boolean => targets.some((target) => reachesPlace(target, place, labelsOf) && hasRole(target, role));

const hasRole = ({ kind, roles }: CompiledTarget, role: string): boolean =>
  kind === "Cluster" ? role === "" : roles.has(role);

export function reachesPlace(
  { kind, projects, names, labels }: CompiledTarget,
  place: AccessPlace,
  labelsOf: (place: AccessPlace) => Labels,
): boolean {
  const isNamed = (name: string): boolean => {
    if (names.size > 0 && !names.has(name)) return false;
    if (labels === undefined) return names.size > 0;
    const found = labelsOf(place);
    return labels.every(([key, value]) => Object.hasOwn(found, key) && found[key] === value);
  };
  if ("cluster" in place) return kind === "Cluster" && isNamed(place.cluster);
  const isInProject = projects.has(place.project) || projects.has("*");
  if (place.virtualCluster === undefined) return kind === "Project" && isInProject;
  return kind === "VirtualCluster" && isInProject && isNamed(place.virtualCluster);
}

const isListed = ({ users, teams }: People, { user, teams: own }: Person): boolean =>
  users.has(user.name) || own.some((team) => teams.has(team));

/** Whether a user may ask by the policy. */
export const mayAsk = ({ requesters }: AccessPolicyState, person: Person): boolean =>
  isListed(requesters, person) ||
  (requesters.expression !== undefined && policyExpressionHolds(requesters.expression, { person }));

export const isListedRequester = ({ requesters }: AccessPolicyState, person: Person): boolean =>
  isListed(requesters, person);

/** Whether the policy names the user as an approver, directly or by a team. */
export const isListedApprover = ({ approvers }: AccessPolicyState, person: Person): boolean =>
  isListed(approvers, person);
