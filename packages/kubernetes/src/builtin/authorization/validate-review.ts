// Validation of access reviews.
// Source: k8s.io/kubernetes/pkg/apis/authorization/validation/validation.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { invalidObjectError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { asGoWrites } from "@postern/apimachinery/protobuf/protobuf-object";
import {
  childPath,
  type FieldError,
  indexPath,
  invalidError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { validateOperator, validateRequirement } from "@postern/apimachinery/validation/labels";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import {
  AUTHORIZATION_GROUP,
  type NonResourceAttributes,
  type Question,
  type SelectorAttributes,
  type SelectorRequirement,
  type SubjectReviewSpec,
} from "./review-fields.ts";

export function validateQuestion({ resourceAttributes, nonResourceAttributes }: Question): readonly FieldError[] {
  if (resourceAttributes === undefined && nonResourceAttributes === undefined) {
    return [
      invalidError(
        "spec.resourceAttributes",
        undefined,
        "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        "null",
      ),
    ];
  }
  const both =
    resourceAttributes !== undefined && nonResourceAttributes !== undefined
      ? [invalidNonResource(nonResourceAttributes, "cannot be specified in combination with resourceAttributes")]
      : [];
  return [
    ...both,
    ...validateSelector(
      resourceAttributes?.fieldSelector,
      "spec.resourceAttributes.fieldSelector",
      validateFieldRequirement,
    ),
    ...validateSelector(
      resourceAttributes?.labelSelector,
      "spec.resourceAttributes.labelSelector",
      ({ key = "", operator = "", values = [] }, path) =>
        validateRequirement({ key, operator, values }, path, UNKNOWN_TOO),
    ),
  ];
}

export function validateSubjectReview(spec: SubjectReviewSpec): readonly FieldError[] {
  const hasSubject = (spec.user ?? "") !== "" || (spec.groups ?? []).length > 0;
  return [
    ...validateQuestion(spec),
    ...(hasSubject
      ? []
      : [invalidError("spec.user", spec.user ?? "", "at least one of user or group must be specified")]),
  ];
}

/** A local review asks about its own namespace, and about resources alone. */
export function validateLocalReview(spec: SubjectReviewSpec, namespace: string): readonly FieldError[] {
  const { resourceAttributes, nonResourceAttributes } = spec;
  const asked = resourceAttributes?.namespace ?? "";
  return [
    ...validateSubjectReview(spec),
    ...(resourceAttributes !== undefined && asked !== namespace
      ? [invalidError("spec.resourceAttributes.namespace", asked, "must match metadata.namespace")]
      : []),
    ...(nonResourceAttributes === undefined
      ? []
      : [invalidNonResource(nonResourceAttributes, "disallowed on this kind of request")]),
  ];
}

/** Throws 422 as upstream words it for reviews: without kind and name. */
export function refuseInvalidReview(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidObjectError({ group: AUTHORIZATION_GROUP, kind: "" }, "", errors);
}

/** Reviews are not stored: metadata, beside the namespace of a local one, has no meaning and is refused. */
export function validateReviewMeta(
  { metadata }: KubeObject,
  { namespaced: allowsNamespace }: Pick<ResourceDefinition, "namespaced">,
): readonly FieldError[] {
  const { managedFields: _fields, creationTimestamp: _time, namespace, ...rest } = metadata;
  const isEmpty = Object.values(rest).every((value) => value === undefined || value === "" || value === null);
  if (isEmpty && (allowsNamespace || (namespace ?? "") === "")) return [];
  const detail = allowsNamespace ? "must be empty except for namespace" : "must be empty";
  // Metadata alone, as Go writes it.
  const shown = asGoWrites({ apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata", metadata } as JsonObject);
  return [invalidError("metadata", shown["metadata"], detail)];
}

function invalidNonResource({ path = "", verb = "" }: NonResourceAttributes, detail: string): FieldError {
  return invalidError("spec.nonResourceAttributes", { Path: path, Verb: verb }, detail);
}

function validateSelector(
  selector: SelectorAttributes | undefined,
  path: string,
  validateOne: (requirement: SelectorRequirement, path: string) => readonly FieldError[],
): readonly FieldError[] {
  if (selector === undefined) return [];
  const { rawSelector = "", requirements = [] } = selector;
  const requirementsPath = childPath(path, "requirements");
  const errors: FieldError[] = [];
  if (rawSelector !== "" && requirements.length > 0) {
    const detail = "may not specified at the same time as requirements";
    errors.push(invalidError(childPath(path, "rawSelector"), rawSelector, detail));
  }
  if (rawSelector === "" && requirements.length === 0) {
    errors.push(requiredError(requirementsPath, `when ${path} is specified, requirements or rawSelector is required`));
  }
  return [
    ...errors,
    ...requirements.flatMap((requirement, index) => validateOne(requirement, indexPath(requirementsPath, index))),
  ];
}

/** Operators that this server does not know may be known to the client, and to the authorizer that is asked. */
const UNKNOWN_TOO = { allowsUnknownOperator: true };

const validateFieldRequirement = (
  { key = "", operator = "", values = [] }: SelectorRequirement,
  path: string,
): readonly FieldError[] => [
  ...validateOperator(operator, values, path, UNKNOWN_TOO),
  ...(key === "" ? [requiredError(childPath(path, "key"), "must be specified")] : []),
];
