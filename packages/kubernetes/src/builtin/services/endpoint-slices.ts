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
  addresses: s.set(s.string()).nullable(),
  conditions: s.object({
    ready: s.boolean(),
    serving: s.boolean(),
    terminating: s.boolean(),
  }),
  hostname: s.string(),
  targetRef: objectReference,
  deprecatedTopology: s.map(s.string()),
  nodeName: s.string(),
  zone: s.string(),
  hints: s.object({
    forZones: s.list(s.object({ name: s.string().required() })),
    forNodes: s.list(s.object({ name: s.string().required() })),
  }),
});

const portFields = s.object(
  {
    name: s.string().default(""),
    port: s.int32(),
    protocol: s.string().default("TCP"),
    appProtocol: s.string(),
  },
  { atomic: true },
);

const sliceFields = s.object({
  addressType: s.string().required(),
  endpoints: s.list(endpointFields).nullable(),
  ports: s.list(portFields).nullable(),
});

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
    { name: "AddressType", type: "string", value: ".addressType" },
    // Stored objects have passed the schema of the kind.
    {
      name: "Ports",
      type: "string",
      value: (object) => portsText(object as EndpointSlice),
    },
    {
      name: "Endpoints",
      type: "string",
      value: (object) => {
        const addresses = ((object as EndpointSlice).endpoints ?? []).flatMap((endpoint) => endpoint.addresses ?? []);
        return addresses.length === 0 ? "<unset>" : shownSome(addresses);
      },
    },
    ageColumn,
  ],
  strategy,
});
