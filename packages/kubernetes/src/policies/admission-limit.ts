// Limits the objects that every write of a cluster or of a namespace looks at, or that changes of others have worked out again.

import { isJsonArray } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { type AdmissionPlugin, forbiddenByAdmission } from "@postern/apiserver/registry/admission-plugin";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import { ADMISSION_GROUP } from "./validating-admission-policy.ts";

/** Highest number of each kind in one cluster; configurations count the webhooks in them. */
const MAX_ADMISSION_RULES = 1_000;
/** In one cluster. A change of a ClusterRole may affect all of them. */
const MAX_AGGREGATED_ROLES = 100;
/** In one namespace: each write there asks all of them. */
const MAX_QUOTAS = 100;

type LimitedKind = {
  readonly limit: number;
  readonly weightOf: (object: KubeObject) => number;
  /** The counted things, for the message. */
  readonly counted: (plural: string) => string;
  readonly where: "cluster" | "namespace";
  /** False for objects that weigh nothing, found without parsing them. */
  readonly mayWeigh?: (object: CachedObject) => boolean;
};

const AGGREGATION_RULE = Buffer.from('"aggregationRule"');

const AGGREGATED_ROLES: LimitedKind = {
  limit: MAX_AGGREGATED_ROLES,
  weightOf: (role) => (role["aggregationRule"] === undefined ? 0 : 1),
  mayWeigh: (role) => role.has(AGGREGATION_RULE),
  counted: (plural) => `${plural} with an aggregationRule`,
  where: "cluster",
};

const QUOTAS: LimitedKind = {
  limit: MAX_QUOTAS,
  weightOf: () => 1,
  counted: (plural) => plural,
  where: "namespace",
};

export function createAdmissionLimit(
  registry: Pick<ResourceRegistry, "find">,
  limit: number = MAX_ADMISSION_RULES,
): AdmissionPlugin {
  const admissionRules: LimitedKind = {
    limit,
    weightOf: weightOfRules,
    counted: (plural) => (plural.endsWith("configurations") ? `webhooks of ${plural}` : plural),
    where: "cluster",
  };
  const weights = new WeakMap<CachedObject, number>();
  const kindOf = ({ group, plural }: ResourceDefinition): LimitedKind | undefined => {
    if (group === ADMISSION_GROUP) return admissionRules;
    if (group === RBAC_GROUP && plural === "clusterroles") return AGGREGATED_ROLES;
    return group === "" && plural === "resourcequotas" ? QUOTAS : undefined;
  };
  return {
    name: "AdmissionLimit",

    validate(attributes) {
      const { resource, operation, subresource, object, oldObject, namespace } = attributes;
      const kind = kindOf(resource);
      if (kind === undefined || object === undefined || subresource !== "") return;
      if (operation !== "create" && operation !== "update") return;
      const more = kind.weightOf(object) - (oldObject === undefined ? 0 : kind.weightOf(oldObject));
      if (more <= 0) return;
      const stored = registry.find(resource.group, resource.version, resource.plural);
      const all = stored?.view.list(stored.keys.inNamespace(kind.where === "cluster" ? "" : namespace)) ?? [];
      const weightOf = (each: CachedObject): number => {
        if (kind.mayWeigh?.(each) === false) return 0;
        const known = weights.get(each) ?? kind.weightOf(each.decode());
        weights.set(each, known);
        return known;
      };
      const used = all.reduce((sum, each) => sum + weightOf(each), 0);
      if (used + more <= kind.limit) return;
      throw forbiddenByAdmission(
        attributes,
        `exceeded limit: ${kind.counted(resource.plural)}, requested: ${more}, used: ${used}, limited: ${kind.limit}`,
      );
    },
  };
}

/** An empty configuration counts as well: it is gone through. */
const weightOfRules = (object: KubeObject): number => {
  const webhooks = object["webhooks"];
  return isJsonArray(webhooks) ? Math.max(1, webhooks.length) : 1;
};
