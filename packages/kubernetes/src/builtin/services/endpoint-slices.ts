// EndpointSlices: where the traffic of a Service goes, in parts.
// Source: k8s.io/kubernetes/pkg/registry/discovery/endpointslice/strategy.go, pkg/apis/discovery/validation/validation.go

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { validateImmutable } from "@postern/apimachinery/validation/object-meta";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { addressWarnings } from "../address-warnings.ts";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { objectReference } from "../core/object-reference.ts";
import { shownSome } from "./endpoints.ts";
import { validateSlice } from "./validate-endpoint-slice.ts";

const endpointFields = s.object({
  addresses: s
    .set(s.string())
    .nullable()
    .describe(
      'addresses of this endpoint. For EndpointSlices of addressType "IPv4" or "IPv6", the values are IP addresses in canonical form.',
    ),
  conditions: s
    .object({
      ready: s
        .boolean()
        .describe(
          "ready indicates that this endpoint is ready to receive traffic, according to whatever system is managing the endpoint.",
        ),
      serving: s
        .boolean()
        .describe(
          "serving indicates that this endpoint is able to receive traffic, according to whatever system is managing the endpoint.",
        ),
      terminating: s
        .boolean()
        .describe(
          'terminating indicates that this endpoint is terminating. A nil value should be interpreted as "false".',
        ),
    })
    .describe("EndpointConditions represents the current condition of an endpoint."),
  hostname: s
    .string()
    .describe(
      "hostname of this endpoint. This field may be used by consumers of endpoints to distinguish endpoints from each other (e.g.",
    ),
  targetRef: objectReference.describe(
    "ObjectReference contains enough information to let you inspect or modify the referred object.",
  ),
  deprecatedTopology: s
    .map(s.string())
    .describe("deprecatedTopology contains topology information part of the v1beta1 API."),
  nodeName: s
    .string()
    .describe(
      "nodeName represents the name of the Node hosting this endpoint. This can be used to determine endpoints local to a Node.",
    ),
  zone: s.string().describe("zone is the name of the Zone this endpoint exists in."),
  hints: s
    .object({
      forZones: s
        .list(s.object({ name: s.string().required().describe("name represents the name of the zone.") }))
        .describe(
          "forZones indicates the zone(s) this endpoint should be consumed by when using topology aware routing.",
        ),
      forNodes: s
        .list(s.object({ name: s.string().required().describe("name represents the name of the node.") }))
        .describe(
          "forNodes indicates the node(s) this endpoint should be consumed by when using topology aware routing.",
        ),
    })
    .describe("EndpointHints provides hints describing how an endpoint should be consumed."),
});

const portFields = s.object(
  {
    name: s
      .string()
      .default("")
      .describe("name represents the name of this port. All ports in an EndpointSlice must have a unique name."),
    port: s.int32().describe("port represents the port number of the endpoint."),
    protocol: s
      .string()
      .default("TCP")
      .describe("protocol represents the IP protocol for this port. Must be UDP, TCP, or SCTP. Default is TCP."),
    appProtocol: s.string().describe("The application protocol for this port."),
  },
  { atomic: true },
);

const sliceFields = s
  .object({
    addressType: s
      .string()
      .required()
      .describe(
        "addressType specifies the type of address carried by this EndpointSlice. All addresses in this slice must be the same type.",
      ),
    endpoints: s
      .list(endpointFields)
      .nullable()
      .describe(
        "endpoints is a list of unique endpoints in this slice. Each slice may include a maximum of 1000 endpoints.",
      ),
    ports: s
      .list(portFields)
      .nullable()
      .describe(
        "ports specifies the list of network ports exposed by each endpoint in this slice. Each port must have a unique name.",
      ),
  })
  .describe("EndpointSlice represents a set of service endpoints.");

type EndpointSlice = KindOf<typeof sliceFields>;

/** A field of the version before, which is not written any more. */
function withoutTopology(slice: EndpointSlice): EndpointSlice {
  const { endpoints } = slice;
  if (!endpoints?.some(({ deprecatedTopology }) => deprecatedTopology !== undefined)) return slice;
  return { ...slice, endpoints: endpoints.map(({ deprecatedTopology: _, ...endpoint }) => endpoint) };
}

const strategy: Strategy<EndpointSlice> = {
  allowUnconditionalUpdate: true,
  prepareForCreate: withoutTopology,
  validate: validateSlice,
  validateUpdate: (slice, old) => [
    // Addresses are judged by the type that the slice has: a new one is refused anyway.
    ...validateSlice({ ...slice, addressType: old.addressType }),
    ...validateImmutable(slice.addressType, old.addressType, "addressType"),
  ],
  // The path is that of upstream.
  warningsOnCreate: (slice) => [
    ...(slice.addressType === "FQDN" ? ["spec.addressType: FQDN endpoints are deprecated"] : []),
    ...formWarnings(slice),
  ],
  warningsOnUpdate: formWarnings,
};

const CONTROLLERS = ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"];
const MOST_WARNINGS = 100;

/** Our controllers write the right form. */
function formWarnings({ metadata, endpoints, addressType }: EndpointSlice): readonly string[] {
  const isOurs = CONTROLLERS.includes(metadata.labels?.["endpointslice.kubernetes.io/managed-by"] ?? "");
  if (isOurs || addressType === "FQDN") return [];
  return (endpoints ?? [])
    .flatMap(({ addresses }, index) =>
      (addresses ?? []).flatMap((address, at) => addressWarnings(`endpoints[${index}].addresses[${at}]`, address)),
    )
    .slice(0, MOST_WARNINGS);
}

const portsText = ({ ports: listed }: EndpointSlice): string => {
  const ports = listed ?? [];
  return ports.length === 0 ? "<unset>" : shownSome(ports.map(({ port }) => (port === undefined ? "*" : String(port))));
};

export const endpointSlices: ResourceDefinition = defineBuiltin({
  group: "discovery.k8s.io",
  version: "v1",
  kind: "EndpointSlice",
  plural: "endpointslices",
  namespaced: true,
  tracksGeneration: true,
  schema: kindSchema(sliceFields.schema),
  columns: [
    { name: "AddressType", type: "string", description: "IPv4, IPv6 or FQDN.", value: ".addressType" },
    // Stored objects have passed the schema of the kind.
    {
      name: "Ports",
      type: "string",
      description:
        "List of ports to expose from the container. Not specifying a port here DOES NOT prevent that port from being exposed.",
      value: (object) => portsText(object as EndpointSlice),
    },
    {
      name: "Endpoints",
      type: "string",
      description:
        "podIPs holds the IP addresses allocated to the pod. If this field is specified, the 0th entry must match the podIP field.",
      value: (object) => {
        const addresses = ((object as EndpointSlice).endpoints ?? []).flatMap((endpoint) => endpoint.addresses ?? []);
        return addresses.length === 0 ? "<unset>" : shownSome(addresses);
      },
    },
    ageColumn,
  ],
  strategy,
});
