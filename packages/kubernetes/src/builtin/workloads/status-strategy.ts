// The strategy of most built-in kinds with a status subresource.
// Source: k8s.io/kubernetes/pkg/registry/apps/deployment/strategy.go, and others of this form

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { FieldError } from "@postern/apimachinery/validation/field-error";
import type { Strategy } from "@postern/apiserver/registry/strategy";

type WithStatus = KubeObject & { readonly status?: JsonValue | undefined };

/** `status` is written through its subresource alone; there nothing but it is. */
export const statusStrategy = <T extends WithStatus>(
  validate: (object: T) => readonly FieldError[],
  validateChange: (object: T, old: T) => readonly FieldError[] = () => [],
  status: JsonValue = {},
): Strategy<T> => ({
  allowUnconditionalUpdate: true,
  prepareForCreate: (object) => ({ ...object, status }),
  validate,
  prepareForUpdate: (object, old, { info }) =>
    info.subresource === "status"
      ? { ...old, metadata: object.metadata, ...(object.status === undefined ? {} : { status: object.status }) }
      : { ...object, ...(old.status === undefined ? {} : { status: old.status }) },
  validateUpdate: (object, old, { info }) =>
    info.subresource === "status" ? [] : [...validateChange(object, old), ...validate(object)],
});
