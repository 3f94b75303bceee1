// Writes the status of a workload where it differs from the stored one.

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { conflictError, STALE_RESOURCE_VERSION } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { ignoringConflicts, updateControlled } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource } from "@postern/apiserver/controllers/controller-port";
import { groupResourceOf } from "@postern/apiserver/registry/resource-definition";
import type { WorkloadPort } from "./workload-port.ts";

type Members = { readonly [name: string]: JsonValue | undefined };

/** As Go writes them: without members that are 0, empty or absent, but for those that a status always has. */
export function statusMembers(members: Members, always: readonly string[] = []): JsonObject {
  const isEmpty = (value: JsonValue | undefined) =>
    value === undefined || value === 0 || value === "" || (Array.isArray(value) && value.length === 0);
  return Object.fromEntries(
    Object.entries(members).filter(([name, value]) => always.includes(name) || !isEmpty(value)),
  ) as JsonObject;
}

/**
 * `annotations` are written with it. After a conflict, the change of the other writer leads to the next attempt. Counts that
 * add up must never be written over newer ones.
 */
export async function writeStatus(
  port: WorkloadPort,
  resource: ControlledResource,
  object: KubeObject,
  status: JsonObject,
  signal: AbortSignal,
  annotations: { readonly [name: string]: string } = {},
): Promise<"written" | "same" | "conflict"> {
  const known = object.metadata.annotations ?? {};
  const isAnnotated = Object.entries(annotations).every(([name, value]) => known[name] === value);
  if (isAnnotated && equalJson(status, object["status"] ?? {})) return "same";
  const { name = "", resourceVersion } = object.metadata;
  const transform = (current: KubeObject): KubeObject => {
    if (current.metadata.resourceVersion !== resourceVersion)
      throw conflictError(groupResourceOf(resource.definition), name, STALE_RESOURCE_VERSION);
    const known = { ...current.metadata.annotations, ...annotations };
    return {
      ...current,
      metadata: isAnnotated ? current.metadata : { ...current.metadata, annotations: known },
      status,
    };
  };
  let result: "written" | "conflict" = "conflict";
  await ignoringConflicts(async () => {
    await updateControlled(port, resource, object, { subresource: "status", transform }, signal);
    result = "written";
  });
  return result;
}
