// The strategy of most built-in kinds with a status subresource.
// Source: k8s.io/kubernetes/pkg/registry/apps/deployment/strategy.go, and others of this form

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { asGoWrites } from "@postern/apimachinery/protobuf/protobuf-object";
import type { FieldError } from "@postern/apimachinery/validation/field-error";
import type { Strategy } from "@postern/apiserver/registry/strategy";

type WithStatus = KubeObject & { readonly status?: JsonValue | undefined };

const zeros = new Map<string, JsonObject>();

/** The members that a status always has: clients refuse an answer without them. */
function zeroStatus({ apiVersion, kind }: KubeObject): JsonObject {
  const name = `${apiVersion}/${kind}`;
  const known = zeros.get(name) ?? ((asGoWrites({ apiVersion, kind })["status"] ?? {}) as JsonObject);
  zeros.set(name, known);
  return known;
}

/** `status` is written through its subresource alone; there nothing but it is. */
export const statusStrategy = <T extends WithStatus>(
  validate: (object: T, old?: T) => readonly FieldError[],
  validateChange: (object: T, old: T) => readonly FieldError[] = () => [],
  status: JsonObject = {},
  validateStatus: (object: T, old: T) => readonly FieldError[] = () => [],
): Strategy<T> => ({
  allowUnconditionalUpdate: true,
  prepareForCreate: (object) => ({ ...object, status: { ...zeroStatus(object), ...status } }),
  validate: (object) => validate(object),
  prepareForUpdate: (object, old, { info }) =>
    info.subresource === "status"
      ? {
          ...old,
          metadata: object.metadata,
          status: { ...zeroStatus(old), ...(object.status as JsonObject | undefined) },
        }
      : { ...object, ...(old.status === undefined ? {} : { status: old.status }) },
  validateUpdate: (object, old, { info }) =>
    info.subresource === "status"
      ? validateStatus(object, old)
      : [...validate(object, old), ...validateChange(object, old)],
});

/** The same warnings about a new object and about a change, but for one of its status. */
export const warningHooks = <T extends KubeObject>(
  warnings: (object: T) => readonly string[],
): Required<Pick<Strategy<T>, "warningsOnCreate" | "warningsOnUpdate">> => ({
  warningsOnCreate: warnings,
  warningsOnUpdate: (object, _old, { info }) => (info.subresource === "status" ? [] : warnings(object)),
});
