// The refusal of a write that means another object of the same name.
// Source: k8s.io/apiserver/pkg/storage/errors.go, whose texts name the key in the store

import { type ApiError, conflictError } from "@postern/apimachinery/meta/api-error";
import type { ResourceDefinition } from "../resource-definition.ts";

/** 409. `actual` is "" for an object that is not there. */
export function uidPreconditionError(
  { group, plural }: Pick<ResourceDefinition, "group" | "plural">,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  wanted: string,
  actual: string,
): ApiError {
  const key = ["/registry", group, plural, namespace, name].filter((part) => part !== "").join("/");
  return conflictError(
    { group, resource: plural },
    name,
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ` +
      `UID in precondition: ${wanted}, UID in object meta: ${actual}`,
  );
}
