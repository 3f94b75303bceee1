// Checks a list of status conditions.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go

import { byteLength } from "./byte-length.ts";
import {
  childPath,
  duplicateError,
  type FieldError,
  indexPath,
  invalidError,
  notSupportedError,
  requiredError,
  tooLongError,
} from "./field-error.ts";
import { validateLabelName } from "./labels.ts";

/** A condition as received; `validateConditions` says what must be filled in. */
export type Condition = {
  readonly type?: string;
  readonly status?: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string | null;
  readonly reason?: string;
  readonly message?: string;
};

const STATUSES = ["False", "True", "Unknown"];
const REASON = /^[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const REASON_RULE =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";
/** Bytes. */
const REASON_MAX_LENGTH = 1024;
/** Bytes. */
const MESSAGE_MAX_LENGTH = 32 * 1024;

export function validateConditions(conditions: readonly Condition[], path: string): readonly FieldError[] {
  const seen = new Set<string>();
  return conditions.flatMap((condition, index) => {
    const conditionPath = indexPath(path, index);
    const type = condition.type ?? "";
    const duplicate = seen.has(type) ? [duplicateError(childPath(conditionPath, "type"), type)] : [];
    seen.add(type);
    return [...duplicate, ...validateCondition(condition, conditionPath)];
  });
}

export function validateCondition(condition: Condition, path: string): readonly FieldError[] {
  const { type = "", status = "", observedGeneration = 0, lastTransitionTime = null } = condition;
  const errors = [...validateLabelName(type, childPath(path, "type"))];
  if (!STATUSES.includes(status)) errors.push(notSupportedError(childPath(path, "status"), status, STATUSES));
  if (observedGeneration < 0) {
    const generationPath = childPath(path, "observedGeneration");
    errors.push(invalidError(generationPath, observedGeneration, "must be greater than or equal to zero"));
  }
  if (lastTransitionTime === null) errors.push(requiredError(childPath(path, "lastTransitionTime"), "must be set"));
  return [
    ...errors,
    ...validateReason(condition.reason ?? "", path),
    ...validateMessage(condition.message ?? "", path),
  ];
}

function validateReason(reason: string, path: string): readonly FieldError[] {
  const reasonPath = childPath(path, "reason");
  if (reason === "") return [requiredError(reasonPath, "must be set")];
  return [
    ...(REASON.test(reason) ? [] : [invalidError(reasonPath, reason, REASON_RULE)]),
    ...(byteLength(reason) > REASON_MAX_LENGTH ? [tooLongError(reasonPath, REASON_MAX_LENGTH)] : []),
  ];
}

const validateMessage = (message: string, path: string): readonly FieldError[] =>
  byteLength(message) > MESSAGE_MAX_LENGTH ? [tooLongError(childPath(path, "message"), MESSAGE_MAX_LENGTH)] : [];
