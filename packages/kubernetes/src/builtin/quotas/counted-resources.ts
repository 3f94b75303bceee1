// Amounts that the resources in a ResourceQuota count, by their names in quotas.
// Source: k8s.io/kubernetes/pkg/quota/v1/evaluator/core/registry.go, k8s.io/apiserver/pkg/quota/v1/generic/evaluator.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ResourceKeys } from "@postern/apiserver/cache/resource-keys";
import type { CacheView } from "@postern/apiserver/cache/watch-cache";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Service } from "../services/service.ts";
import { AMOUNTS, type ServiceAmount, type ServiceTotals } from "../services/service-totals.ts";

/** Kinds that quotas also know without `count/`. */
const PLAIN_NAMES = [
  "configmaps",
  "persistentvolumeclaims",
  "pods",
  "replicationcontrollers",
  "resourcequotas",
  "secrets",
  "services",
];

type Counted = Pick<ResourceDefinition, "group" | "plural">;

export type CountedResource = {
  readonly resource: Counted;
  /** How much one object counts for the limited resource. */
  readonly amountOf: (object: KubeObject) => number;
  /** How many all objects of a namespace are that memory has, without looking at each. */
  readonly used: (place: CountedPlace, namespace: string, services: ServiceTotals) => number;
};

type CountedPlace = { readonly view: Pick<CacheView, "count">; readonly keys: Pick<ResourceKeys, "inNamespace"> };

const SERVICES: Counted = { group: "", plural: "services" };
const eachOne = (resource: Counted): CountedResource => ({
  resource,
  amountOf: () => 1,
  used: ({ view, keys }, namespace) => view.count(keys.inNamespace(namespace)),
});
const isServiceAmount = (name: string): name is ServiceAmount => Object.hasOwn(AMOUNTS, name);

/** Undefined for quantities that are not counts of objects, such as memory. */
export function countedResource(name: string): CountedResource | undefined {
  if (name.startsWith("count/")) {
    const [plural = "", ...group] = name.slice("count/".length).split(".");
    return eachOne({ plural, group: group.join(".") });
  }
  if (PLAIN_NAMES.includes(name)) return eachOne({ group: "", plural: name });
  if (!isServiceAmount(name)) return undefined;
  return {
    resource: SERVICES,
    // A Service has passed its schema before admission sees it.
    amountOf: (object) => AMOUNTS[name](object as Service),
    used: (_place, namespace, services) => services.amount(name, namespace),
  };
}

export const counts = ({ resource }: CountedResource, { group, plural }: Counted): boolean =>
  resource.group === group && resource.plural === plural;
