// Checks the numbers of an object that its scale subresource shows, whichever way they are written.
// Source: k8s.io/apiextensions-apiserver/pkg/registry/customresource/validator.go (ValidateScaleSpec, ValidateScaleStatus)

import { isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { type FieldError, invalidError } from "@postern/apimachinery/validation/field-error";
import { formatGoPlain, goTypeName } from "@postern/structured-merge/typed/format-go-value";
import { splitFieldPath } from "../../field-path.ts";
import type { ScaleSubresource } from "../../resource-definition.ts";

const MAX_INT32 = 2 ** 31 - 1;

/** A write to `/status` cannot change how many are wanted, so that only the rest is checked. */
export function validateScaleFields(
  object: KubeObject,
  { specReplicasPath, statusReplicasPath, labelSelectorPath, checksSpec }: ScaleSubresource,
  subresource: string,
): readonly FieldError[] {
  // Their own strategies check both.
  if (checksSpec === true) return [];
  return [
    ...(subresource === "status" ? [] : replicasFaults(object, specReplicasPath)),
    ...replicasFaults(object, statusReplicasPath),
    ...(labelSelectorPath === undefined ? [] : selectorFaults(object, labelSelectorPath)),
  ];
}

function replicasFaults(object: KubeObject, path: string): readonly FieldError[] {
  const { found, fault } = read(object, path, "int64");
  if (fault !== undefined) return [invalidError(path, 0, fault)];
  const replicas = Number(found ?? 0);
  if (replicas < 0) return [invalidError(path, replicas, "should be a non-negative integer")];
  if (replicas > MAX_INT32) return [invalidError(path, replicas, `should be less than or equal to ${MAX_INT32}`)];
  return [];
}

function selectorFaults(object: KubeObject, path: string): readonly FieldError[] {
  const { fault } = read(object, path, "string");
  return fault === undefined ? [] : [invalidError(path, "", fault)];
}

type Read = { readonly found?: JsonValue; readonly fault?: string };

function read(object: KubeObject, path: string, expected: "int64" | "string"): Read {
  const members = splitFieldPath(path);
  let at: JsonValue = object;
  for (const [depth, member] of members.entries()) {
    if (at === null) return {};
    if (!isJsonObject(at)) return { fault: misfit(members.slice(0, depth + 1), at, "map[string]interface{}") };
    const below: JsonValue | undefined = Object.hasOwn(at, member) ? at[member] : undefined;
    if (below === undefined) return {};
    at = below;
  }
  return goTypeName(at) === expected ? { found: at } : { fault: misfit(members, at, expected) };
}

const misfit = (members: readonly string[], value: JsonValue, expected: string): string =>
  `.${members.join(".")} accessor error: ${formatGoPlain(value)} is of the type ${goTypeName(value)}, expected ${expected}`;
