// Limits the webhooks, policies and bindings of a cluster: every write looks at those that may be about it.

import { isJsonArray } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "../cache/cached-object.ts";
import { type AdmissionPlugin, forbiddenByAdmission } from "../registry/admission-plugin.ts";
import type { ResourceRegistry } from "../registry/resource-registry.ts";
import { ADMISSION_GROUP } from "./validating-admission-policy.ts";

/** Of each kind in one cluster; of configurations, the webhooks in them count. */
export const MAX_ADMISSION_RULES = 1_000;

export function createAdmissionLimit(
  registry: Pick<ResourceRegistry, "find">,
  limit: number = MAX_ADMISSION_RULES,
): AdmissionPlugin {
  const counts = new WeakMap<CachedObject, number>();
  const countOf = (object: CachedObject): number => {
    const known = counts.get(object) ?? weightOf(object.decode());
    counts.set(object, known);
    return known;
  };
  return {
    name: "AdmissionLimit",

    validate(attributes) {
      const { resource, operation, subresource, object, oldObject } = attributes;
      if (resource.group !== ADMISSION_GROUP || object === undefined || subresource !== "") return;
      if (operation !== "create" && operation !== "update") return;
      const more = weightOf(object) - (oldObject === undefined ? 0 : weightOf(oldObject));
      if (more <= 0) return;
      const stored = registry.find(resource.group, resource.version, resource.plural);
      const all = stored?.view.list(stored.keys.prefix) ?? [];
      const used = all.reduce((sum, each) => sum + countOf(each), 0);
      if (used + more <= limit) return;
      const counted = resource.plural.endsWith("configurations") ? `webhooks of ${resource.plural}` : resource.plural;
      throw forbiddenByAdmission(
        attributes,
        `exceeded limit: ${counted}, requested: ${more}, used: ${used}, limited: ${limit}`,
      );
    },
  };
}

/** An empty configuration counts as well: it is gone through. */
const weightOf = (object: KubeObject): number => {
  const webhooks = object["webhooks"];
  return isJsonArray(webhooks) ? Math.max(1, webhooks.length) : 1;
};
