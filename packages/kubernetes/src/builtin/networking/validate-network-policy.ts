// Requirements of a NetworkPolicy. Networks that were there before are let through.
// Source: k8s.io/kubernetes/pkg/apis/networking/validation/validation.go (ValidateNetworkPolicySpec)

import { isCidr } from "@postern/apimachinery/schema/validation/ip-address";
import {
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { type LabelSelector, validateLabelSelector } from "@postern/apimachinery/validation/labels";
import { networkWarnings } from "../address-warnings.ts";
import { choiceFaults, isPartOf, networkFaults, portFaults, portOrNameFaults, readNetwork } from "../field-checks.ts";

type Port = { readonly protocol?: string; readonly port?: number | string; readonly endPort?: number };
type IpBlock = { readonly cidr: string; readonly except?: readonly string[] };
type Peer = {
  readonly podSelector?: LabelSelector;
  readonly namespaceSelector?: LabelSelector;
  readonly ipBlock?: IpBlock;
};
type Rule = { readonly ports?: readonly Port[]; readonly from?: readonly Peer[]; readonly to?: readonly Peer[] };
export type NetworkPolicySpec = {
  readonly podSelector?: LabelSelector;
  readonly ingress?: readonly Rule[];
  readonly egress?: readonly Rule[];
  readonly policyTypes?: readonly string[];
};

const TYPES = ["Ingress", "Egress"];

export function validateNetworkPolicySpec(spec: NetworkPolicySpec, old?: NetworkPolicySpec): readonly FieldError[] {
  const { podSelector, ingress = [], egress = [], policyTypes = [] } = spec;
  const known = new Set(old === undefined ? [] : networksOf(old));
  return [
    ...validateLabelSelector(podSelector, "spec.podSelector"),
    ...ingress.flatMap(({ ports, from }, index) =>
      ruleFaults({ ports, from }, indexPath("spec.ingress", index), known),
    ),
    ...egress.flatMap(({ ports, to }, index) => ruleFaults({ ports, to }, indexPath("spec.egress", index), known)),
    ...(policyTypes.length > TYPES.length
      ? [invalidError("spec.policyTypes", [...policyTypes], "may not specify more than two policyTypes")]
      : policyTypes.flatMap((type, index) => choiceFaults(indexPath("spec.policyTypes", index), type, TYPES))),
  ];
}

const networksOf = ({ ingress = [], egress = [] }: NetworkPolicySpec): readonly string[] =>
  [...ingress.flatMap(({ from = [] }) => from), ...egress.flatMap(({ to = [] }) => to)].flatMap(({ ipBlock }) =>
    ipBlock === undefined ? [] : [ipBlock.cidr, ...(ipBlock.except ?? [])],
  );

const MOST_WARNINGS = 100;

export const networkPolicyWarnings = ({ ingress = [], egress = [] }: NetworkPolicySpec): readonly string[] =>
  [
    ...ingress.flatMap(({ from = [] }, index) => peersWarnings(from, `spec.ingress[${index}].from`)),
    ...egress.flatMap(({ to = [] }, index) => peersWarnings(to, `spec.egress[${index}].to`)),
  ].slice(0, MOST_WARNINGS);

const peersWarnings = (peers: readonly Peer[], path: string): readonly string[] =>
  peers.flatMap(({ ipBlock }, index) => {
    const at = `${indexPath(path, index)}.ipBlock`;
    if (ipBlock === undefined) return [];
    const { cidr, except = [] } = ipBlock;
    return [
      ...networkWarnings(`${at}.cidr`, cidr),
      ...except.flatMap((each, part) => networkWarnings(indexPath(`${at}.except`, part), each)),
    ];
  });

type OneWay = { readonly [name in keyof Rule]: Rule[name] | undefined };

function ruleFaults({ ports = [], from, to }: OneWay, path: string, known: ReadonlySet<string>): readonly FieldError[] {
  const [name, peers] = to === undefined ? (["from", from ?? []] as const) : (["to", to] as const);
  return [
    ...ports.flatMap((port, index) => portsFaults(port, `${path}.ports[${index}]`)),
    ...peers.flatMap((peer, index) => peerFaults(peer, `${path}.${name}[${index}]`, known)),
  ];
}

function portsFaults({ protocol, port, endPort }: Port, path: string): readonly FieldError[] {
  const end = `${path}.endPort`;
  const endFault = (value: number, why: string): readonly FieldError[] => [invalidError(end, value, why)];
  return [
    ...choiceFaults(`${path}.protocol`, protocol, ["TCP", "UDP", "SCTP"]),
    ...(typeof port === "string" && endPort !== undefined
      ? endFault(endPort, "may not be specified when `port` is non-numeric")
      : []),
    ...(port === undefined ? [] : portOrNameFaults(`${path}.port`, port)),
    ...(port === undefined && endPort !== undefined
      ? endFault(endPort, "may not be specified when `port` is not specified")
      : []),
    ...(typeof port === "number" && endPort !== undefined
      ? [
          ...(endPort < port ? endFault(port, "must be greater than or equal to `port`") : []),
          ...portFaults(end, endPort),
        ]
      : []),
  ];
}

function peerFaults(
  { podSelector, namespaceSelector, ipBlock }: Peer,
  path: string,
  known: ReadonlySet<string>,
): readonly FieldError[] {
  const given = [podSelector, namespaceSelector, ipBlock].filter((each) => each !== undefined).length;
  return [
    ...validateLabelSelector(podSelector, `${path}.podSelector`),
    ...validateLabelSelector(namespaceSelector, `${path}.namespaceSelector`),
    ...(ipBlock === undefined ? [] : blockFaults(ipBlock, `${path}.ipBlock`, known)),
    ...(given === 0 ? [requiredError(path, "must specify a peer")] : []),
    ...(given > 1 && ipBlock !== undefined
      ? [forbiddenError(path, "may not specify both ipBlock and another peer")]
      : []),
  ];
}

function blockFaults({ cidr, except = [] }: IpBlock, path: string, known: ReadonlySet<string>): readonly FieldError[] {
  if (cidr === "") return [requiredError(`${path}.cidr`)];
  const faults = (at: string, network: string) => (known.has(network) ? [] : networkFaults(at, network));
  if (!isCidr(cidr)) return faults(`${path}.cidr`, cidr);
  return [
    ...faults(`${path}.cidr`, cidr),
    ...except.flatMap((each, index) => {
      const at = indexPath(`${path}.except`, index);
      const isOutside = isCidr(each) && !isPartOf(readNetwork(each), readNetwork(cidr));
      return [...faults(at, each), ...(isOutside ? [invalidError(at, each, "must be a strict subset of `cidr`")] : [])];
    }),
  ];
}
