// The fields of Services.
// Source: k8s.io/api/core/v1/types.go (ServiceSpec, ServiceStatus)

import { s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { mergedInPatches } from "../builtin-resource.ts";
import { conditionFields } from "../condition-fields.ts";

const portFields = s.object({
  name: s.string().describe("Name of the port, a DNS label. Required where there are several."),
  protocol: s.string().default("TCP").describe("TCP, UDP or SCTP. Absent: TCP."),
  appProtocol: s.string().describe("The protocol spoken on top of it, such as kubernetes.io/h2c."),
  port: s.int32().required().describe("The port that the service has."),
  targetPort: s.intOrString().describe("Number or name of the port of the pods. Absent: the same as port."),
  nodePort: s.int32().describe("The port on every node, for types NodePort and LoadBalancer. Absent: one is chosen."),
});

const loadBalancerIngress = s.object({
  ip: s.string().describe("Its address."),
  hostname: s.string().describe("Its DNS name."),
  ipMode: s.string().describe("VIP or Proxy: how packets arrive that are sent to the address."),
  ports: s
    .list(
      s.object({
        port: s.int32().required().describe("The port."),
        protocol: s.string().required().describe("Its protocol."),
        error: s.string().describe("What is wrong with it."),
      }),
    )
    .describe("The state of its ports."),
});

export const serviceFields = s
  .object({
    spec: s
      .object({
        ports: mergedInPatches(s.listMap(portFields, ["port", "protocol"]), "port").describe(
          "The ports of the service.",
        ),
        selector: s
          .field<{ readonly [label: string]: string }>({
            type: "object",
            additionalProperties: { type: "string" },
            "x-kubernetes-map-type": "atomic",
          })
          .describe("The labels of the pods behind it. Absent: others write its endpoints."),
        clusterIP: s.string().describe("The address of the service. Absent: one is chosen. None: it is headless."),
        clusterIPs: s.list(s.string()).describe("The addresses of the service; the first is clusterIP."),
        type: s.string().describe("ClusterIP, NodePort, LoadBalancer or ExternalName. Absent: ClusterIP."),
        externalIPs: s.list(s.string()).describe("Addresses outside the cluster that also lead to the service."),
        sessionAffinity: s.string().describe("ClientIP: a client stays with one pod. Absent: None."),
        sessionAffinityConfig: s
          .object({
            clientIP: s
              .object({ timeoutSeconds: s.int32().describe("Seconds for which a client stays. Absent: 10800.") })
              .describe("For ClientIP."),
          })
          .describe("How clients stay with one pod."),
        loadBalancerIP: s.string().describe("The address wanted of the load balancer, where its provider heeds this."),
        loadBalancerSourceRanges: s.list(s.string()).describe("Networks that the load balancer lets in."),
        loadBalancerClass: s.string().describe("Which implementation of load balancers is meant."),
        allocateLoadBalancerNodePorts: s.boolean().describe("False: a load balancer needs no ports on nodes."),
        externalName: s.string().describe("The DNS name that a service of type ExternalName stands for."),
        externalTrafficPolicy: s.string().describe("Cluster or Local: where traffic from outside goes."),
        internalTrafficPolicy: s.string().describe("Cluster or Local: where traffic from inside goes."),
        trafficDistribution: s.string().describe("Which endpoints are preferred, such as PreferClose."),
        healthCheckNodePort: s.int32().describe("The port on nodes at which load balancers ask for their health."),
        publishNotReadyAddresses: s.boolean().describe("True: endpoints that are not ready are published as well."),
        ipFamilies: s.list(s.string()).describe("IPv4 and IPv6, for clusterIPs in their order."),
        ipFamilyPolicy: s.string().describe("SingleStack, PreferDualStack or RequireDualStack."),
      })
      .describe("The service as it should be."),
    status: s
      .object({
        loadBalancer: s
          .object({ ingress: s.list(loadBalancerIngress).describe("Where it is reached.") })
          .describe("The load balancer, if there is one."),
        conditions: mergedInPatches(s.listMap(conditionFields, ["type"]), "type").describe("The state in words."),
      })
      .describe("The service as it is."),
  })
  .describe("An address and ports for a set of pods. It is kept as it is: no traffic goes through this server.");

export type Service = KindOf<typeof serviceFields>;
export type ServiceSpec = NonNullable<Service["spec"]>;
export type ServicePort = NonNullable<ServiceSpec["ports"]>[number];

export const typeOf = ({ spec }: Pick<Service, "spec">): string => spec?.type ?? "ClusterIP";

/** The address that counts, however it was written; "" where there is none yet. */
export const clusterIPOf = ({ spec }: Pick<Service, "spec">): string =>
  (spec?.clusterIP ?? "") !== "" ? (spec?.clusterIP ?? "") : (spec?.clusterIPs?.[0] ?? "");

export const isHeadless = (service: Pick<Service, "spec">): boolean => clusterIPOf(service) === "None";

/** Whether a service of this type has ports on nodes. */
export const hasNodePorts = (service: Pick<Service, "spec">): boolean => {
  const type = typeOf(service);
  return type === "NodePort" || (type === "LoadBalancer" && service.spec?.allocateLoadBalancerNodePorts !== false);
};
