// Checks metadata.ownerReferences: complete references, one controller at most, no owners that never live long.
// Source: k8s.io/apimachinery/pkg/api/validation/objectmeta.go (texts of 1.36)

import { stringifyJson } from "../json/stringify-json.ts";
import { parseApiVersion } from "../meta/group-version.ts";
import type { OwnerReference } from "../meta/object-meta.ts";
import { childPath, type FieldError, invalidError } from "./field-error.ts";

/** Form that decoding accepts: every member may still be missing. */
type ReceivedReference = Partial<OwnerReference>;

const EVENT = "/v1, Kind=Event";

/** Upstream reports every further controller, with a text that has all references in it. */
const MAX_FURTHER_CONTROLLERS = 5;

export function validateOwnerReferences(
  references: readonly ReceivedReference[] | undefined,
  path: string,
): readonly FieldError[] {
  const errors: FieldError[] = [];
  let firstController: string | undefined;
  let furtherControllers = 0;
  let printed: string | undefined;
  for (const reference of references ?? []) {
    errors.push(...validateOwnerReference(reference, path));
    if (reference.controller !== true) continue;
    const controller = `${reference.kind ?? ""}/${reference.name ?? ""}`;
    if (firstController === undefined) {
      firstController = controller;
    } else {
      // Each prints all of them.
      if (++furtherControllers > MAX_FURTHER_CONTROLLERS) continue;
      printed ??= `[${(references ?? []).map(ownerReferenceText).join(",")}]`;
      errors.push(onlyOneController(printed, path, firstController, controller));
    }
  }
  return errors;
}

function validateOwnerReference(reference: ReceivedReference, path: string): readonly FieldError[] {
  const { apiVersion = "", kind = "", name = "", uid = "" } = reference;
  const { group, version } = parseApiVersion(apiVersion) ?? { group: "", version: "" };
  const errors: FieldError[] = [];
  if (version === "") {
    errors.push(invalidError(childPath(path, "apiVersion"), apiVersion, "version must not be empty"));
  }
  for (const [member, value] of [
    ["kind", kind],
    ["name", name],
    ["uid", uid],
  ] as const) {
    if (value === "") errors.push(invalidError(childPath(path, member), value, "must not be empty"));
  }
  const groupVersionKind = `${group}/${version}, Kind=${kind}`;
  if (groupVersionKind === EVENT) {
    errors.push(
      invalidError(
        path,
        undefined,
        `${groupVersionKind} is disallowed from being an owner`,
        ownerReferenceText(reference),
      ),
    );
  }
  return errors;
}

/** A reference as Go writes it in JSON. */
function ownerReferenceText(reference: ReceivedReference): string {
  const { apiVersion = "", kind = "", name = "", uid = "", controller, blockOwnerDeletion } = reference;
  return stringifyJson({
    apiVersion,
    kind,
    name,
    uid,
    ...(controller === undefined ? {} : { controller }),
    ...(blockOwnerDeletion === undefined ? {} : { blockOwnerDeletion }),
  });
}

function onlyOneController(printed: string, path: string, first: string, second: string): FieldError {
  return invalidError(
    path,
    undefined,
    `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${second}`,
    printed,
  );
}
