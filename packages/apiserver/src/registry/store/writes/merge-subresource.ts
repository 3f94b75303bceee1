// The fields that a write changes depend on the subresource it goes through.
// Source: k8s.io/apiextensions-apiserver/pkg/registry/customresource/{strategy,status_strategy}.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ResourceDefinition } from "../../resource-definition.ts";

/** `old` with what a write through the subresource may change of it. Merging what was merged changes nothing. */
export function mergeSubresource(
  { subresources = [], hasStatus, strategicMergePatch }: ResourceDefinition,
  subresource: string,
  submitted: KubeObject,
  old: KubeObject,
): KubeObject {
  const own = subresources.find(({ name }) => name === subresource);
  if (own?.updates !== undefined) return own.updates(submitted, old);
  if (subresource !== "status") return withoutStatusChange(submitted, old, hasStatus);
  const merged = onlyStatus(submitted, old);
  return strategicMergePatch === true ? { ...merged, metadata: submitted.metadata } : merged;
}

/** A write to /status keeps everything but the status, and who owns it. Of built-in kinds it changes metadata, too. */
function onlyStatus(submitted: KubeObject, old: KubeObject): KubeObject {
  const { managedFields } = submitted.metadata;
  const { managedFields: _, ...meta } = old.metadata;
  const { status: _status, ...rest } = old;
  const { status } = submitted;
  return {
    ...(rest as KubeObject),
    metadata: { ...meta, ...(managedFields === undefined ? {} : { managedFields }) },
    ...(status === undefined ? {} : { status }),
  };
}

function withoutStatusChange(submitted: KubeObject, old: KubeObject, hasStatus = false): KubeObject {
  if (!hasStatus) return submitted;
  const { status: _, ...rest } = submitted;
  return { ...(rest as KubeObject), ...(old["status"] === undefined ? {} : { status: old["status"] }) };
}

/** A new object has no status of its own where that is a subresource, unless its kind takes one from the client. */
export function withoutStatus(object: KubeObject, { hasStatus, takesNewStatus }: ResourceDefinition): KubeObject {
  if (hasStatus !== true || takesNewStatus === true || object["status"] === undefined) return object;
  const { status: _, ...rest } = object;
  // The rest has the members that make it an object of a kind.
  return rest as KubeObject;
}
