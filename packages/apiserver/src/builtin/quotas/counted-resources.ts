// What the resources in a ResourceQuota count, by the names that quotas have for them.
// Source: k8s.io/kubernetes/pkg/quota/v1/evaluator/core/registry.go, k8s.io/apiserver/pkg/quota/v1/generic/evaluator.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CacheView } from "../../cache/watch-cache.ts";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import type { ResourceKeys } from "../../registry/resource-keys.ts";
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
  /** How many of what is limited one object is. */
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

/** Undefined for what is no count of objects, such as an amount of memory. */
export function countedResource(name: string): CountedResource | undefined {
  if (name.startsWith("count/")) {
    const [plural = "", ...group] = name.slice("count/".length).split(".");
    return eachOne({ plural, group: group.join(".") });
  }
  if (PLAIN_NAMES.includes(name)) return eachOne({ group: "", plural: name });
  if (!isServiceAmount(name)) return undefined;
  return {
    resource: SERVICES,
    // What admission sees of a Service has gone through its schema.
    amountOf: (object) => AMOUNTS[name](object as Service),
    used: (_place, namespace, services) => services.amount(name, namespace),
  };
}

export const counts = ({ resource }: CountedResource, { group, plural }: Counted): boolean =>
  resource.group === group && resource.plural === plural;
