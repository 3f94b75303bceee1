// Checks uid and resourceVersion of a write against the stored object.
// Source: k8s.io/apiserver/pkg/registry/generic/registry/store.go (Update)

import {
  type ApiError,
  conflictError,
  invalidObjectError,
  STALE_RESOURCE_VERSION,
} from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Revision } from "../../../storage/storage.ts";
import { groupResourceOf, type ResourceDefinition } from "../../resource-definition.ts";
import { parseResourceVersion } from "../reads/resource-version.ts";
import type { StoreContext } from "../store-context.ts";
import { withRevision } from "./object-meta.ts";

/** The object under the version it replaces: its own, or where that may be left out, the current one. */
export function checkedVersion(
  store: StoreContext,
  name: string,
  submitted: KubeObject,
  current: Revision,
): KubeObject {
  const revision = parseResourceVersion(submitted.metadata.resourceVersion ?? "");
  if (revision === 0) {
    if (store.strategy.allowUnconditionalUpdate === true) return withRevision(submitted, current);
    const { group, resource } = groupResourceOf(store.definition);
    throw invalidObjectError({ group, kind: resource }, name, [
      {
        type: "FieldValueInvalid",
        field: "metadata.resourceVersion",
        message: "Invalid value: 0: must be specified for an update",
      },
    ]);
  }
  if (revision !== current) throw conflictError(groupResourceOf(store.definition), name, STALE_RESOURCE_VERSION);
  return submitted;
}

/**
 * 409 for a write that means another object of the same name. `actual` is "" for an object that is not there.
 * Source: k8s.io/apiserver/pkg/storage/errors.go, whose texts name the key in the store
 */
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
