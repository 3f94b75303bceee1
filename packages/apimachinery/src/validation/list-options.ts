// The options of lists and watches, and which combinations are invalid.
// Source: k8s.io/apimachinery/pkg/apis/meta/internalversion/validation/validation.go

import { type FieldError, forbiddenError, notSupportedError } from "./field-error.ts";

/** The query of a list or watch. Absent texts are "". */
export type ListOptions = {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly watch?: boolean;
  readonly allowWatchBookmarks?: boolean;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: string;
  /** Seconds. */
  readonly timeoutSeconds?: number;
  /** 0 or less: no limit. */
  readonly limit?: number;
  readonly continue?: string;
  readonly sendInitialEvents?: boolean;
};

export type ListOptionsFeatures = {
  /** Whether a watch can begin with the objects that exist. */
  readonly watchList: boolean;
};

const MATCH = "resourceVersionMatch";

export function validateListOptions(
  options: ListOptions,
  features: ListOptionsFeatures = { watchList: true },
): readonly FieldError[] {
  return options.watch === true ? validateWatchOptions(options, features) : validateForList(options);
}

function validateForList(options: ListOptions): readonly FieldError[] {
  const { resourceVersion = "", resourceVersionMatch: match = "" } = options;
  const errors: FieldError[] = [];
  if (match !== "") {
    if (resourceVersion === "")
      errors.push(forbiddenError(MATCH, `${MATCH} is forbidden unless resourceVersion is provided`));
    errors.push(...validateContinueWithMatch(options));
    if (match !== "Exact" && match !== "NotOlderThan") {
      errors.push(notSupportedError(MATCH, match, ["Exact", "NotOlderThan", ""]));
    }
    if (match === "Exact" && resourceVersion === "0") {
      errors.push(forbiddenError(MATCH, `${MATCH} "exact" is forbidden for resourceVersion "0"`));
    }
  }
  if (options.sendInitialEvents !== undefined) {
    errors.push(forbiddenError("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  }
  return errors;
}

function validateWatchOptions(options: ListOptions, { watchList }: ListOptionsFeatures): readonly FieldError[] {
  const { resourceVersionMatch: match = "", sendInitialEvents } = options;
  const errors: FieldError[] = [];
  if (sendInitialEvents !== undefined) {
    if (match !== "NotOlderThan") {
      errors.push(forbiddenError(MATCH, `sendInitialEvents requires setting ${MATCH} to NotOlderThan`));
    }
    if (!watchList) {
      const why = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
      errors.push(forbiddenError("sendInitialEvents", why));
    }
  }
  if (match !== "") {
    if (sendInitialEvents === undefined) {
      errors.push(forbiddenError(MATCH, `${MATCH} is forbidden for watch unless sendInitialEvents is provided`));
    }
    if (match !== "NotOlderThan") errors.push(notSupportedError(MATCH, match, ["NotOlderThan"]));
    errors.push(...validateContinueWithMatch(options));
  }
  return errors;
}

const validateContinueWithMatch = (options: ListOptions): readonly FieldError[] =>
  (options.continue ?? "") === "" ? [] : [forbiddenError(MATCH, `${MATCH} is forbidden when continue is provided`)];
