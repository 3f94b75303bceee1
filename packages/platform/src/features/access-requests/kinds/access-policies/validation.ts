// Validates access policies beyond the schema.

import type { AccessPolicy, AccessPolicyTarget } from "@postern/api/access-policy";
import type { PlatformNames } from "@postern/api/platform-names";
import { findPatternError } from "@postern/apimachinery/schema/pattern/pattern";
import {
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { type ExpressionUse, policyExpressionError } from "../../policy-expression.ts";

export function validateAccessPolicy(
  { metadata, spec }: AccessPolicy,
  names: Pick<PlatformNames, "projectOf">,
): readonly FieldError[] {
  const { namespace = "" } = metadata;
  const project = namespace === "" ? undefined : names.projectOf(namespace);
  const { requesters, approvers = {}, targets, autoApprove, reason = {} } = spec;
  const { users = [], teams = [], expression } = requesters;
  const patternFault = reason.pattern === undefined ? undefined : findPatternError(reason.pattern);
  return [
    ...(namespace !== "" && project === undefined
      ? [invalidError("metadata.namespace", namespace, "must be the namespace of a project")]
      : []),
    ...(users.length === 0 && teams.length === 0 && expression === undefined
      ? [requiredError("spec.requesters", "name users, teams, or an expression")]
      : []),
    ...expressionErrors("spec.requesters.expression", expression, "requester"),
    ...expressionErrors("spec.autoApprove", autoApprove, "approval"),
    ...targets.flatMap((target, at) => targetErrors(target, indexPath("spec.targets", at), project)),
    ...(approvers.count !== undefined &&
    (approvers.teams ?? []).length === 0 &&
    (approvers.users ?? []).length > 0 &&
    approvers.count > new Set(approvers.users).size
      ? [invalidError("spec.approvers.count", approvers.count, "there are fewer approvers")]
      : []),
    ...(patternFault === undefined ? [] : [invalidError("spec.reason.pattern", reason.pattern ?? "", patternFault)]),
  ];
}

function expressionErrors(path: string, source: string | undefined, use: ExpressionUse): readonly FieldError[] {
  const fault = source === undefined ? undefined : policyExpressionError(source, use);
  return fault === undefined ? [] : [invalidError(path, source ?? "", fault)];
}

function targetErrors(
  { kind, projects, names = [], selector, roles = [] }: AccessPolicyTarget,
  path: string,
  project: string | undefined,
): readonly FieldError[] {
  const errors: FieldError[] = [];
  const outside = "a policy of a project offers nothing outside of it";
  if (project !== undefined) {
    if (kind === "Cluster") errors.push(forbiddenError(path, outside));
    for (const [at, name] of (projects ?? []).entries())
      if (name !== project) errors.push(invalidError(indexPath(`${path}.projects`, at), name, outside));
  } else if (kind !== "Cluster" && (projects ?? []).length === 0) {
    errors.push(requiredError(`${path}.projects`, 'name projects, or "*" for all'));
  }
  if (kind === "Cluster" && (projects ?? []).length > 0)
    errors.push(forbiddenError(`${path}.projects`, "clusters are in no project"));
  if (kind === "Project" && (names.length > 0 || selector !== undefined))
    errors.push(forbiddenError(path, "names and selector are for virtual clusters and clusters"));
  if (kind !== "Project" && names.length === 0 && Object.keys(selector?.matchLabels ?? {}).length === 0)
    errors.push(requiredError(`${path}.names`, "name objects, or select them by labels"));
  if (kind === "Cluster" && roles.length > 0)
    errors.push(forbiddenError(`${path}.roles`, "the access to a cluster has no role"));
  if (kind !== "Cluster" && roles.length === 0) errors.push(requiredError(`${path}.roles`, "name the roles"));
  return errors;
}
