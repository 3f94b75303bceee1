// EndpointSlices: where the traffic of a Service goes, in parts.
// Source: k8s.io/kubernetes/pkg/registry/discovery/endpointslice/strategy.go, pkg/apis/discovery/validation/validation.go

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import {
  childPath,
  type FieldError,
  indexPath,
  invalidError,
  notSupportedError,
  requiredError,
  tooManyError,
} from "@postern/apimachinery/validation/field-error";
import { validateImmutable } from "@postern/apimachinery/validation/object-meta";
import { isDNS1123Subdomain } from "@postern/apimachinery/validation/string-validators";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import type { Strategy } from "../../registry/strategy.ts";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { objectReference } from "../core/object-reference.ts";
import { shownSome } from "./endpoints.ts";
import { addressFaults } from "./validate-service.ts";

const TYPES = ["FQDN", "IPv4", "IPv6"];
const MAX_ENDPOINTS = 1000;
const MAX_ADDRESSES = 100;
const MAX_PORTS = 20_000;

const endpointFields = s.object({
  addresses: s.set(s.string()).required().describe("Addresses of one endpoint; consumers take the first."),
  conditions: s
    .object({
      ready: s.boolean().describe("Whether it takes traffic. Absent means true."),
      serving: s.boolean().describe("As ready, also while it ends."),
      terminating: s.boolean().describe("Whether it is about to end."),
    })
    .describe("The state of the endpoint."),
  hostname: s.string().describe("Its name, a DNS label."),
  targetRef: objectReference.describe("The object that has the addresses."),
  deprecatedTopology: s.map(s.string()).describe("Labels of former versions."),
  nodeName: s.string().describe("The node it is on."),
  zone: s.string().describe("The zone it is in."),
  hints: s
    .object({
      forZones: s
        .list(s.object({ name: s.string().required().describe("Name of the zone.") }))
        .describe("Zones it is meant for."),
    })
    .describe("Who should use it."),
});

const portFields = s.object(
  {
    name: s.string().describe("Name of the port, which no other of the slice has."),
    port: s.int32().describe("The port. Absent: all ports."),
    protocol: s.string().default("TCP").describe("TCP, UDP or SCTP. Absent: TCP."),
    appProtocol: s.string().describe("The protocol spoken on top of it."),
  },
  { atomic: true },
);

const sliceFields = s
  .object({
    addressType: s.string().required().describe("IPv4, IPv6 or FQDN. Cannot be changed."),
    endpoints: s.list(endpointFields).required().describe("The endpoints, at most 1000."),
    ports: s.list(portFields).describe("The ports of every endpoint."),
  })
  .describe("Some of the endpoints of a service; the label kubernetes.io/service-name says of which.");

export type EndpointSlice = KindOf<typeof sliceFields>;

function validateSlice({ addressType, endpoints = [], ports = [] }: EndpointSlice): readonly FieldError[] {
  const names = ports.map(({ name = "" }) => name);
  return [
    ...(TYPES.includes(addressType)
      ? []
      : [addressType === "" ? requiredError("addressType") : notSupportedError("addressType", addressType, TYPES)]),
    ...(endpoints.length > MAX_ENDPOINTS ? [tooManyError("endpoints", endpoints.length, MAX_ENDPOINTS)] : []),
    ...(ports.length > MAX_PORTS ? [tooManyError("ports", ports.length, MAX_PORTS)] : []),
    ...endpoints.flatMap(({ addresses }, index) => {
      const path = childPath(indexPath("endpoints", index), "addresses");
      if (addresses.length === 0) return [requiredError(path, "must contain at least 1 address")];
      if (addresses.length > MAX_ADDRESSES) return [tooManyError(path, addresses.length, MAX_ADDRESSES)];
      return addresses.flatMap((address, at) =>
        (addressType === "FQDN" ? isDNS1123Subdomain(address) : addressFaults(address)).map((fault) =>
          invalidError(indexPath(path, at), address, fault),
        ),
      );
    }),
    ...names.flatMap((name, index) =>
      names.indexOf(name) === index ? [] : [invalidError(`ports[${index}].name`, name, "must be unique")],
    ),
  ];
}

const strategy: Strategy<EndpointSlice> = {
  allowUnconditionalUpdate: true,
  validate: validateSlice,
  validateUpdate: (slice, old) => [
    ...validateImmutable(slice.addressType, old.addressType, "addressType"),
    ...validateSlice(slice),
  ],
};

const portsText = ({ ports = [] }: EndpointSlice): string =>
  ports.length === 0 ? "<unset>" : shownSome(ports.map(({ port }) => (port === undefined ? "*" : String(port))));

export const endpointSlices: ResourceDefinition = defineBuiltin({
  group: "discovery.k8s.io",
  version: "v1",
  kind: "EndpointSlice",
  plural: "endpointslices",
  singular: "endpointslice",
  namespaced: true,
  tracksGeneration: true,
  schema: kindSchema(sliceFields.schema),
  columns: [
    { name: "AddressType", type: "string", description: "IPv4, IPv6 or FQDN.", value: ".addressType" },
    // What the store holds has gone through the schema of the kind.
    { name: "Ports", type: "string", description: "Its ports.", value: (object) => portsText(object as EndpointSlice) },
    {
      name: "Endpoints",
      type: "string",
      description: "Its addresses.",
      value: (object) => {
        const addresses = ((object as EndpointSlice).endpoints ?? []).flatMap((endpoint) => endpoint.addresses);
        return addresses.length === 0 ? "<unset>" : shownSome(addresses);
      },
    },
    ageColumn,
  ],
  strategy,
});
