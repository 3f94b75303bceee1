// Endpoints: where the traffic of a Service goes, as one object. Controllers still write them beside EndpointSlices.
// Source: k8s.io/kubernetes/pkg/registry/core/endpoint/strategy.go, pkg/apis/core/validation/validation.go (ValidateEndpoints)

import { isIP } from "node:net";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import {
  childPath,
  type FieldError,
  indexPath,
  invalidError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { addressWarnings } from "../address-warnings.ts";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { objectReference } from "../core/object-reference.ts";
import { addressFaults, endpointAddressFaults, labelFaults } from "../field-checks.ts";
import { warningHooks } from "../workloads/status-strategy.ts";

const addressFields = s.object(
  {
    ip: s.string().required(),
    hostname: s.string(),
    nodeName: s.string(),
    targetRef: objectReference,
  },
  { atomic: true },
);

const portFields = s.object(
  {
    name: s.string(),
    port: s.int32().required(),
    protocol: s.string().default("TCP"),
    appProtocol: s.string(),
  },
  { atomic: true },
);

const endpointsFields = s.object({
  subsets: s.list(
    s.object({
      addresses: s.list(addressFields),
      notReadyAddresses: s.list(addressFields),
      ports: s.list(portFields),
    }),
  ),
});

export type Endpoints = KindOf<typeof endpointsFields>;

function validateEndpoints({ subsets }: Endpoints): readonly FieldError[] {
  return (subsets ?? []).flatMap((subset, index) => {
    const path = indexPath("subsets", index);
    const { addresses = [], notReadyAddresses = [], ports = [] } = subset;
    return [
      ...(addresses.length + notReadyAddresses.length === 0
        ? [requiredError(path, "must specify `addresses` or `notReadyAddresses`")]
        : []),
      ...validateAddresses(addresses, childPath(path, "addresses")),
      ...validateAddresses(notReadyAddresses, childPath(path, "notReadyAddresses")),
      ...ports.flatMap(({ name = "", port }, at) => [
        ...(name === "" && ports.length > 1 ? [requiredError(`${path}.ports[${at}].name`)] : []),
        ...(name === "" ? [] : labelFaults(`${path}.ports[${at}].name`, name)),
        ...(port >= 1 && port <= 65_535
          ? []
          : [invalidError(`${path}.ports[${at}].port`, port, "must be between 1 and 65535, inclusive")]),
      ]),
    ];
  });
}

const validateAddresses = (addresses: readonly { readonly ip: string }[], path: string): readonly FieldError[] =>
  addresses.flatMap(({ ip }, index) => ipFaults(`${indexPath(path, index)}.ip`, ip));

/** A text that is no address at all is named twice, as by upstream. */
const ipFaults = (path: string, ip: string): readonly FieldError[] => {
  const faults = addressFaults(path, ip);
  if (faults.length === 0) return endpointAddressFaults(path, ip);
  return isIP(ip.replaceAll(/(^|\.)0+(?=\d)/g, "$1")) === 0
    ? [...faults, invalidError(path, ip, "must be a valid IP address")]
    : faults;
};

const strategy: Strategy<Endpoints> = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  validate: validateEndpoints,
  validateUpdate: validateEndpoints,
  ...warningHooks(formWarnings),
};

/** Our controller writes the right form. */
function formWarnings({ metadata, subsets }: Endpoints): readonly string[] {
  if (metadata.labels?.["endpoints.kubernetes.io/managed-by"] === "endpoint-controller") return [];
  return (subsets ?? [])
    .flatMap((subset, index) =>
      (["addresses", "notReadyAddresses"] as const).flatMap((list) =>
        (subset[list] ?? []).flatMap(({ ip }, at) => addressWarnings(`subsets[${index}].${list}[${at}].ip`, ip)),
      ),
    )
    .slice(0, MOST_WARNINGS);
}

const MOST_WARNINGS = 100;

const MAX_SHOWN = 3;

/** Three of them, and how many more there are. */
export function shownSome(all: readonly string[]): string {
  if (all.length === 0) return "<none>";
  const shown = all.slice(0, MAX_SHOWN).join(",");
  return all.length > MAX_SHOWN ? `${shown} + ${all.length - MAX_SHOWN} more...` : shown;
}

function endpointTexts({ subsets = [] }: Endpoints): readonly string[] {
  return subsets.flatMap(({ addresses = [], ports = [] }) =>
    ports.length === 0
      ? addresses.map(({ ip }) => ip)
      : ports.flatMap(({ port }) =>
          addresses.map(({ ip }) => (ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`)),
        ),
  );
}

export const endpoints: ResourceDefinition = defineBuiltin({
  group: "",
  version: "v1",
  kind: "Endpoints",
  plural: "endpoints",
  deprecationWarning: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
  listKind: "EndpointsList",
  shortNames: ["ep"],
  namespaced: true,
  schema: kindSchema(endpointsFields.schema),
  columns: [
    {
      name: "Endpoints",
      type: "string",
      value: (object) => shownSome(endpointTexts(object as Endpoints)),
    },
    ageColumn,
  ],
  strategy,
});
