// The fields of Services.
// Source: k8s.io/api/core/v1/types.go (ServiceSpec, ServiceStatus)

import { s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { mergedInPatches } from "../builtin-resource.ts";
import { conditionFields } from "../condition-fields.ts";

const portFields = s.object({
  name: s
    .string()
    .describe(
      "The name of this port within the service. This must be a DNS_LABEL. All ports within a ServiceSpec must have unique names.",
    ),
  protocol: s.string().default("TCP").describe('Protocol for port. Must be UDP, TCP, or SCTP. Defaults to "TCP".'),
  appProtocol: s.string().describe("The application protocol for this port."),
  port: s.int32().required().describe("The port that will be exposed by this service."),
  targetPort: s.intOrString().describe("IntOrString is a type that can hold an int32 or a string."),
  nodePort: s
    .int32()
    .describe(
      "The port on each node on which this service is exposed when type is NodePort or LoadBalancer. Usually assigned by the system.",
    ),
});

const loadBalancerIngress = s.object({
  ip: s.string().describe("IP address."),
  hostname: s.string().describe("Host name, for load-balancer ingress points that are DNS based."),
  ipMode: s
    .string()
    .describe(
      "IPMode specifies how the load-balancer IP behaves, and may only be specified when the ip field is specified.",
    ),
  ports: s
    .list(
      s.object({
        port: s.int32().required().describe("Port number."),
        protocol: s
          .string()
          .required()
          .describe(
            'Protocol is the protocol of the service port of which status is recorded here The supported values are: "TCP", "UDP", "SCTP"',
          ),
        error: s
          .string()
          .describe(
            "Error is to record the problem with the service port The format of the error shall comply with the following rules: - built-in error values shall be specified in this file and those shall use CamelCase names - cloud provider specific error values must have names that comply with the format foo.example.com/CamelCase.",
          ),
      }),
    )
    .describe("List of records of service ports."),
});

export const serviceFields = s
  .object({
    spec: s
      .object({
        ports: mergedInPatches(s.listMap(portFields, ["port", "protocol"]), "port").describe(
          "The list of ports that are exposed by this service.",
        ),
        selector: s
          .field<{ readonly [label: string]: string }>({
            type: "object",
            additionalProperties: { type: "string" },
            "x-kubernetes-map-type": "atomic",
          })
          .describe("Route service traffic to pods with label keys and values matching this selector."),
        clusterIP: s.string().describe("clusterIP is the IP address of the service and is usually assigned randomly."),
        clusterIPs: s
          .list(s.string())
          .describe(
            "ClusterIPs is a list of IP addresses assigned to this service, and are usually assigned randomly.",
          ),
        type: s.string().describe("type determines how the Service is exposed. Defaults to ClusterIP."),
        externalIPs: s
          .list(s.string())
          .describe(
            "externalIPs is a list of IP addresses for which nodes in the cluster will also accept traffic for this service.",
          ),
        sessionAffinity: s
          .string()
          .describe(
            'Supports "ClientIP" and "None". Used to maintain session affinity. Enable client IP based session affinity.',
          ),
        sessionAffinityConfig: s
          .object({
            clientIP: s
              .object({
                timeoutSeconds: s
                  .int32()
                  .describe("timeoutSeconds specifies the seconds of ClientIP type session sticky time."),
              })
              .describe("ClientIPConfig represents the configurations of Client IP based session affinity."),
          })
          .describe("SessionAffinityConfig represents the configurations of session affinity."),
        loadBalancerIP: s.string().describe("Only applies to Service Type: LoadBalancer."),
        loadBalancerSourceRanges: s
          .list(s.string())
          .describe(
            "If specified and supported by the platform, this will restrict traffic through the cloud-provider load-balancer will be restricted to the specified client IPs.",
          ),
        loadBalancerClass: s
          .string()
          .describe("loadBalancerClass is the class of the load balancer implementation this Service belongs to."),
        allocateLoadBalancerNodePorts: s
          .boolean()
          .describe(
            "allocateLoadBalancerNodePorts defines if NodePorts will be automatically allocated for services with type LoadBalancer.",
          ),
        externalName: s
          .string()
          .describe(
            "externalName is the external reference that discovery mechanisms will return as an alias for this service (e.g.",
          ),
        externalTrafficPolicy: s
          .string()
          .describe(
            'externalTrafficPolicy describes how nodes distribute service traffic they receive on one of the Service\'s "externally-facing" addresses (NodePorts, ExternalIPs, and LoadBalancer IPs).',
          ),
        internalTrafficPolicy: s
          .string()
          .describe(
            "InternalTrafficPolicy describes how nodes distribute service traffic they receive on the ClusterIP.",
          ),
        trafficDistribution: s
          .string()
          .describe(
            "TrafficDistribution offers a way to express preferences for how traffic is distributed to Service endpoints.",
          ),
        healthCheckNodePort: s
          .int32()
          .describe("healthCheckNodePort specifies the healthcheck nodePort for the service."),
        publishNotReadyAddresses: s
          .boolean()
          .describe(
            "publishNotReadyAddresses indicates that any agent which deals with endpoints for this Service should disregard any indications of ready/not-ready.",
          ),
        ipFamilies: s
          .list(s.string())
          .describe("IPFamilies is a list of IP families (e.g. IPv4, IPv6) assigned to this service."),
        ipFamilyPolicy: s
          .string()
          .describe("IPFamilyPolicy represents the dual-stack-ness requested or required by this Service."),
      })
      .describe("ServiceSpec describes the attributes that a user creates on a service."),
    status: s
      .object({
        loadBalancer: s
          .object({ ingress: s.list(loadBalancerIngress).describe("List of ingress points for the load balancer.") })
          .describe("LoadBalancerStatus represents the status of a load-balancer."),
        conditions: mergedInPatches(s.listMap(conditionFields("observedGeneration"), ["type"]), "type").describe(
          "Latest available observations of the object's current state.",
        ),
      })
      .describe("ServiceStatus represents the current status of a service."),
  })
  .describe("An address and ports for a set of pods. It is kept as it is: no traffic goes through this server.");

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
