// Finds the built-in kinds that a surface cannot be without.

import type { InstalledResource, ResourceRegistry } from "@postern/apiserver/registry/resource-registry";

/** A resource that the surface cannot be without. */
export function requiredResource(registry: ResourceRegistry, group: string, kind: string): InstalledResource {
  const resource = registry.findKind(group, kind);
  if (resource === undefined) throw new Error(`${kind} of group ${JSON.stringify(group)} is not served`);
  return resource;
}
