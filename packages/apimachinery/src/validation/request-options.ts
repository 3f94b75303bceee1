// The options of writes and Table requests, and which values are invalid.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go

import { type FieldError, forbiddenError, invalidError, notSupportedError, requiredError } from "./field-error.ts";
import { validateFieldManager } from "./managed-fields.ts";

/** Options of all writes, as received, before validation. */
export type WriteOptions = {
  /** `["All"]`: run everything but store nothing. */
  readonly dryRun?: readonly string[];
  readonly fieldManager?: string;
  /** "", Ignore, Warn or Strict: what to do about unknown and duplicate fields. */
  readonly fieldValidation?: string;
};

export type CreateOptions = WriteOptions;
export type UpdateOptions = WriteOptions;

export type PatchOptions = WriteOptions & {
  /** Apply only: take fields over from other managers. */
  readonly force?: boolean;
};

export type Preconditions = { readonly uid?: string; readonly resourceVersion?: string };

export type DeleteOptions = {
  /** Seconds. */
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: Preconditions;
  /** The older form of `propagationPolicy`. */
  readonly orphanDependents?: boolean;
  /** Foreground, Background or Orphan. */
  readonly propagationPolicy?: string;
  readonly dryRun?: readonly string[];
  readonly ignoreStoreReadErrorWithClusterBreakingPotential?: boolean;
};

const FIELD_VALIDATION = ["", "Ignore", "Strict", "Warn"];
const PROPAGATION_POLICIES = ["Foreground", "Background", "Orphan"];
const IGNORE_READ_ERROR = "ignoreStoreReadErrorWithClusterBreakingPotential";

export const validateCreateOptions = (options: CreateOptions): readonly FieldError[] => validateWriteOptions(options);

export const validateUpdateOptions = (options: UpdateOptions): readonly FieldError[] => validateWriteOptions(options);

/** `patchType` is the media type of the patch, without parameters. */
export function validatePatchOptions(options: PatchOptions, patchType: string): readonly FieldError[] {
  return [...validateApplyOptions(options, patchType), ...validateWriteOptions(options)];
}

function validateApplyOptions({ force, fieldManager = "" }: PatchOptions, patchType: string): readonly FieldError[] {
  if (patchType.startsWith("application/apply-patch+")) {
    return fieldManager === "" ? [requiredError("fieldManager", "is required for apply patch")] : [];
  }
  return force === undefined ? [] : [forbiddenError("force", "may not be specified for non-apply patch")];
}

function validateWriteOptions({
  dryRun,
  fieldManager = "",
  fieldValidation = "",
}: WriteOptions): readonly FieldError[] {
  return [
    ...validateFieldManager(fieldManager, "fieldManager"),
    ...validateDryRun(dryRun),
    ...(FIELD_VALIDATION.includes(fieldValidation)
      ? []
      : [notSupportedError("fieldValidation", fieldValidation, FIELD_VALIDATION)]),
  ];
}

function validateDryRun(dryRun: readonly string[] = []): readonly FieldError[] {
  if (dryRun.every((stage) => stage === "All")) return [];
  return [notSupportedError("dryRun", [...dryRun], ["All"])];
}

export function validateDeleteOptions(options: DeleteOptions): readonly FieldError[] {
  const { propagationPolicy: policy, orphanDependents } = options;
  const errors: FieldError[] = [];
  if (policy !== undefined && orphanDependents !== undefined) {
    errors.push(
      invalidError("propagationPolicy", policy, "orphanDependents and deletionPropagation cannot be both set"),
    );
  }
  if (policy !== undefined && !PROPAGATION_POLICIES.includes(policy)) {
    errors.push(notSupportedError("propagationPolicy", policy, [...PROPAGATION_POLICIES, "nil"]));
  }
  return [...errors, ...validateDryRun(options.dryRun), ...validateIgnoreReadError(options)];
}

/** Deleting what cannot be read skips every safeguard, so none may be asked for. */
function validateIgnoreReadError(options: DeleteOptions): readonly FieldError[] {
  if (options.ignoreStoreReadErrorWithClusterBreakingPotential !== true) return [];
  const clashing = [
    (options.dryRun?.length ?? 0) > 0 ? "dryRun" : undefined,
    options.propagationPolicy === undefined ? undefined : "propagationPolicy",
    options.orphanDependents === undefined ? undefined : "orphanDependents",
    options.gracePeriodSeconds === undefined ? undefined : "gracePeriodSeconds",
    options.preconditions === undefined ? undefined : "preconditions",
  ];
  return clashing
    .filter((option) => option !== undefined)
    .map((option) => invalidError(IGNORE_READ_ERROR, true, `cannot be set together with .${option}`));
}
