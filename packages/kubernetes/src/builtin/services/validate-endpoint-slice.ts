// Requirements of an EndpointSlice.
// Source: k8s.io/kubernetes/pkg/apis/discovery/validation/validation.go (ValidateEndpointSlice)

import { isIP } from "node:net";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import {
  duplicateError,
  type FieldError,
  indexPath,
  invalidError,
  requiredError,
  tooManyError,
} from "@postern/apimachinery/validation/field-error";
import { isDNS1123Subdomain, isValidLabelValue } from "@postern/apimachinery/validation/string-validators";
import { plainFormOf } from "../address-warnings.ts";
import {
  addressFaults,
  choiceFaults,
  endpointAddressFaults,
  labelFaults,
  qualifiedFaults,
  requiredChoice,
  subdomainFaults,
  textFaults,
} from "../field-checks.ts";

type Endpoint = {
  readonly addresses?: readonly string[] | null;
  readonly hostname?: string;
  readonly nodeName?: string;
  readonly hints?: {
    readonly forZones?: readonly { readonly name: string }[];
    readonly forNodes?: readonly { readonly name: string }[];
  };
};
type Port = { readonly name?: string; readonly protocol?: string; readonly appProtocol?: string };
export type SliceFields = {
  readonly addressType?: string;
  readonly endpoints?: readonly Endpoint[] | null;
  readonly ports?: readonly Port[] | null;
};

const TYPES = ["FQDN", "IPv4", "IPv6"];
const MAX_ENDPOINTS = 1000;
const MAX_ADDRESSES = 100;
const MAX_PORTS = 20_000;
const MAX_HINTS = 8;

export function validateSlice(slice: SliceFields): readonly FieldError[] {
  const { addressType = "" } = slice;
  const [endpoints, ports] = [slice.endpoints ?? [], slice.ports ?? []];
  return [
    ...requiredChoice("addressType", addressType, TYPES),
    ...(endpoints.length > MAX_ENDPOINTS
      ? [tooManyError("endpoints", endpoints.length, MAX_ENDPOINTS)]
      : endpoints.flatMap((endpoint, index) => endpointFaults(endpoint, addressType, indexPath("endpoints", index)))),
    ...(ports.length > MAX_PORTS ? [tooManyError("ports", ports.length, MAX_PORTS)] : portFaultsOf(ports)),
  ];
}

function endpointFaults(endpoint: Endpoint, type: string, path: string): readonly FieldError[] {
  const { nodeName, hostname, hints } = endpoint;
  const addresses = endpoint.addresses ?? [];
  const at = `${path}.addresses`;
  return [
    ...(addresses.length === 0 ? [requiredError(at, "must contain at least 1 address")] : []),
    ...(addresses.length > MAX_ADDRESSES
      ? [tooManyError(at, addresses.length, MAX_ADDRESSES)]
      : addresses.flatMap((address, index) => typedAddressFaults(address, type, at, index))),
    ...(nodeName === undefined ? [] : subdomainFaults(`${path}.nodeName`, nodeName)),
    ...(hostname === undefined ? [] : labelFaults(`${path}.hostname`, hostname)),
    ...hintFaults(hints?.forZones ?? [], `${path}.hints.forZones`, isValidLabelValue),
    ...hintFaults(hints?.forNodes ?? [], `${path}.hints.forNodes`, isDNS1123Subdomain),
  ];
}

function typedAddressFaults(address: string, type: string, path: string, index: number): readonly FieldError[] {
  const at = indexPath(path, index);
  if (type === "FQDN") return nameFaults(at, address);
  if (type !== "IPv4" && type !== "IPv6") return [];
  const faults = addressFaults(at, address);
  if (faults.length > 0) return faults;
  const plain = plainFormOf(address) ?? address;
  if (plain !== address) return [invalidError(at, address, `must be in canonical form (${quoteGo(plain)})`)];
  return [
    ...(`IPv${isIP(address)}` === type ? [] : [invalidError(path, address, `must be an ${type} address`)]),
    ...endpointAddressFaults(at, address),
  ];
}

/** A full name has a domain of at least two labels. */
function nameFaults(path: string, name: string): readonly FieldError[] {
  if (name === "") return [requiredError(path)];
  const faults = textFaults(path, name, isDNS1123Subdomain);
  if (faults.length > 0) return faults;
  const labels = name.split(".");
  if (labels.length < 2)
    return [invalidError(path, name, "should be a domain with at least two segments separated by dots")];
  return labels.flatMap((label) => labelFaults(path, label));
}

const hintFaults = (
  hints: readonly { readonly name: string }[],
  path: string,
  validate: typeof isValidLabelValue,
): readonly FieldError[] =>
  hints.length > MAX_HINTS
    ? [tooManyError(path, hints.length, MAX_HINTS)]
    : hints.flatMap(({ name }, index) => [
        ...(hints.findIndex((other) => other.name === name) < index
          ? [duplicateError(`${indexPath(path, index)}.name`, name)]
          : []),
        ...textFaults(`${indexPath(path, index)}.name`, name, validate),
      ]);

function portFaultsOf(ports: readonly Port[]): readonly FieldError[] {
  const names = ports.map(({ name = "" }) => name);
  return ports.flatMap(({ name = "", protocol, appProtocol }, index) => {
    const path = indexPath("ports", index);
    return [
      ...(name === "" ? [] : labelFaults(`${path}.name`, name)),
      ...(names.indexOf(name) < index ? [duplicateError(`${path}.name`, name)] : []),
      ...(protocol === undefined
        ? [requiredError(`${path}.protocol`)]
        : choiceFaults(`${path}.protocol`, protocol, ["SCTP", "TCP", "UDP"])),
      ...(appProtocol === undefined ? [] : qualifiedFaults(`${path}.appProtocol`, appProtocol)),
    ];
  });
}
