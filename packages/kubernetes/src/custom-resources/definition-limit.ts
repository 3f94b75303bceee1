// Limits the definitions of a cluster, and their versions: each takes memory, and a part of discovery and of OpenAPI documents.

import { isJsonArray, isJsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { type AdmissionPlugin, forbiddenByAdmission } from "@postern/apiserver/registry/admission-plugin";
import type { ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import { APIEXTENSIONS_GROUP } from "./custom-resource-definition.ts";

/** More than the largest published sets, which have about a thousand definitions with one or two versions each. */
export const MAX_DEFINITIONS = 1_500;
export const MAX_SERVED_VERSIONS = 2_500;

export type DefinitionLimits = { readonly definitions?: number; readonly versions?: number };

export function createDefinitionLimit(
  registry: Pick<ResourceRegistry, "find" | "resources">,
  { definitions = MAX_DEFINITIONS, versions = MAX_SERVED_VERSIONS }: DefinitionLimits = {},
): AdmissionPlugin {
  return {
    name: "DefinitionLimit",
    resource: { group: APIEXTENSIONS_GROUP, resource: "customresourcedefinitions" },

    validate(attributes) {
      const { resource, operation, subresource, object, oldObject } = attributes;
      if (subresource !== "" || (operation !== "create" && operation !== "update")) return;
      const stored = registry.find(APIEXTENSIONS_GROUP, resource.version, resource.plural);
      const count = stored?.view.count(stored.keys.prefix) ?? 0;
      if (operation === "create" && count >= definitions) {
        throw forbiddenByAdmission(
          attributes,
          `exceeded limit: this cluster has ${count} customresourcedefinitions, limited: ${definitions}`,
        );
      }
      const more = servedVersions(object) - servedVersions(oldObject);
      const served = registry.resources.filter(({ definition }) => definition.storedSchemas !== undefined).length;
      if (more > 0 && served + more > versions) {
        throw forbiddenByAdmission(
          attributes,
          `exceeded limit: spec.versions: ${more} more served versions, used: ${served}, limited: ${versions}`,
        );
      }
    },
  };
}

function servedVersions(definition: KubeObject | undefined): number {
  const spec = definition?.["spec"];
  const versions = isJsonObject(spec) && isJsonArray(spec["versions"]) ? spec["versions"] : [];
  return versions.filter((version) => isJsonObject(version) && version["served"] === true).length;
}
