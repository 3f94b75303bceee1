// The fields of Services.
// Source: k8s.io/api/core/v1/types.go (ServiceSpec, ServiceStatus)

import { s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { mergedInPatches } from "../builtin-resource.ts";
import { conditionFields } from "../condition-fields.ts";

const portFields = s.object({
  name: s.string(),
  protocol: s.string().default("TCP"),
  appProtocol: s.string(),
  port: s.int32().required(),
  targetPort: s.intOrString(),
  nodePort: s.int32(),
});

const loadBalancerIngress = s.object({
  ip: s.string(),
  hostname: s.string(),
  ipMode: s.string(),
  ports: s.list(
    s.object({
      port: s.int32().required(),
      protocol: s.string().required(),
      error: s.string(),
    }),
  ),
});

export const serviceFields = s.object({
  spec: s.object({
    ports: mergedInPatches(s.listMap(portFields, ["port", "protocol"]), "port"),
    selector: s.field<{ readonly [label: string]: string }>({
      type: "object",
      additionalProperties: { type: "string" },
      "x-kubernetes-map-type": "atomic",
    }),
    clusterIP: s.string(),
    clusterIPs: s.list(s.string()),
    type: s.string(),
    externalIPs: s.list(s.string()),
    sessionAffinity: s.string(),
    sessionAffinityConfig: s.object({
      clientIP: s.object({
        timeoutSeconds: s.int32(),
      }),
    }),
    loadBalancerIP: s.string(),
    loadBalancerSourceRanges: s.list(s.string()),
    loadBalancerClass: s.string(),
    allocateLoadBalancerNodePorts: s.boolean(),
    externalName: s.string(),
    externalTrafficPolicy: s.string(),
    internalTrafficPolicy: s.string(),
    trafficDistribution: s.string(),
    healthCheckNodePort: s.int32(),
    publishNotReadyAddresses: s.boolean(),
    ipFamilies: s.list(s.string()),
    ipFamilyPolicy: s.string(),
  }),
  status: s.object({
    loadBalancer: s.object({ ingress: s.list(loadBalancerIngress) }),
    conditions: mergedInPatches(s.listMap(conditionFields("observedGeneration"), ["type"]), "type"),
  }),
});

export type Service = KindOf<typeof serviceFields>;
export type ServiceSpec = NonNullable<Service["spec"]>;
export type ServicePort = NonNullable<ServiceSpec["ports"]>[number];

export const typeOf = ({ spec }: Pick<Service, "spec">): string => spec?.type ?? "ClusterIP";

/** The canonical address; "" if there is none yet. */
export const clusterIPOf = ({ spec }: Pick<Service, "spec">): string =>
  (spec?.clusterIP ?? "") !== "" ? (spec?.clusterIP ?? "") : (spec?.clusterIPs?.[0] ?? "");

export const isHeadless = (service: Pick<Service, "spec">): boolean => clusterIPOf(service) === "None";

/** Whether load balancers ask a port of their own which nodes have a pod of the service. */
export const hasHealthCheckPort = (service: Pick<Service, "spec">): boolean =>
  typeOf(service) === "LoadBalancer" && service.spec?.externalTrafficPolicy === "Local";

/** Whether a service of this type has ports on nodes. */
export const hasNodePorts = (service: Pick<Service, "spec">): boolean => {
  const type = typeOf(service);
  return type === "NodePort" || (type === "LoadBalancer" && service.spec?.allocateLoadBalancerNodePorts !== false);
};
