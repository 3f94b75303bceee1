// What the resources in a ResourceQuota count, by the names that quotas have for them.
// Source: k8s.io/kubernetes/pkg/quota/v1/evaluator/core/registry.go, k8s.io/apiserver/pkg/quota/v1/generic/evaluator.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { hasNodePorts, type Service, typeOf } from "../services/service.ts";

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
};

const ONE = () => 1;
const SERVICES: Counted = { group: "", plural: "services" };

/** Undefined for what is no count of objects, such as an amount of memory. */
export function countedResource(name: string): CountedResource | undefined {
  if (name.startsWith("count/")) {
    const [plural = "", ...group] = name.slice("count/".length).split(".");
    return { resource: { plural, group: group.join(".") }, amountOf: ONE };
  }
  if (PLAIN_NAMES.includes(name)) return { resource: { group: "", plural: name }, amountOf: ONE };
  // What the store holds, and what admission sees of a Service, has gone through its schema.
  if (name === "services.loadbalancers") {
    return { resource: SERVICES, amountOf: (object) => (typeOf(object as Service) === "LoadBalancer" ? 1 : 0) };
  }
  if (name === "services.nodeports") {
    return {
      resource: SERVICES,
      amountOf: (object) => (hasNodePorts(object as Service) ? ((object as Service).spec?.ports ?? []).length : 0),
    };
  }
  return undefined;
}

export const counts = ({ resource }: CountedResource, { group, plural }: Counted): boolean =>
  resource.group === group && resource.plural === plural;
