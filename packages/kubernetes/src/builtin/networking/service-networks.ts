// ServiceCIDRs and IPAddresses: the networks of Services, and who has which address. They are stored; addresses of Services are chosen without them.
// Source: k8s.io/kubernetes/pkg/registry/networking/{servicecidr,ipaddress}/strategy.go, pkg/apis/networking/validation/validation.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, indexPath, invalidError, requiredError } from "@postern/apimachinery/validation/field-error";
import { isValidPathSegmentName } from "@postern/apimachinery/validation/string-validators";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { ageColumn, defineBuiltin, mergedInPatches } from "../builtin-resource.ts";
import { conditionFields } from "../condition-fields.ts";
import { addressFaults, networkFaults, segmentFaults, subdomainFaults, textFaults } from "../field-checks.ts";
import { statusStrategy } from "../workloads/status-strategy.ts";

const networkFields = s.object({
  spec: s.object({
    cidrs: s.list(s.string()),
  }),
  status: s.object({
    conditions: mergedInPatches(s.listMap(conditionFields("observedGeneration"), ["type"]), "type"),
  }),
});

type ServiceCidr = KindOf<typeof networkFields>;

const IMMUTABLE = "field is immutable";
const cidrsOf = ({ spec }: ServiceCidr): readonly string[] => spec?.cidrs ?? [];

function validateNetworks(network: ServiceCidr): readonly FieldError[] {
  const path = "spec.cidrs";
  const cidrs = cidrsOf(network);
  if (cidrs.length === 0) return [requiredError(path, "at least one CIDR required")];
  if (cidrs.length > 2) return [invalidError(path, { CIDRs: [...cidrs] }, "may only hold up to 2 values")];
  const faults = cidrs.flatMap((cidr, index) => networkFaults(indexPath(path, index), cidr));
  const [first = "", second] = cidrs;
  const isOneFamily = second !== undefined && faults.length === 0 && first.includes(":") === second.includes(":");
  return isOneFamily
    ? [
        invalidError(
          path,
          [...cidrs],
          "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64",
        ),
      ]
    : faults;
}

/** A network of the other family may be added; otherwise they stay. */
function validateNetworkChange(next: ServiceCidr, old: ServiceCidr): readonly FieldError[] {
  const [now, before] = [cidrsOf(next), cidrsOf(old)];
  const isExtended = before.length === 1 && now.length === 2;
  if (now.length !== before.length && !isExtended) return [invalidError("spec.cidrs", [...now], IMMUTABLE)];
  const changed = before.flatMap((cidr, index) =>
    now[index] === cidr ? [] : [invalidError(indexPath("spec.cidrs", index), now[index], IMMUTABLE)],
  );
  return isExtended ? [...changed, ...validateNetworks(next)] : changed;
}

const networkStrategy = statusStrategy<ServiceCidr>(validateNetworks);

export const serviceCidrs: ResourceDefinition = defineBuiltin({
  group: "networking.k8s.io",
  version: "v1",
  kind: "ServiceCIDR",
  plural: "servicecidrs",
  namespaced: false,
  hasStatus: true,
  schema: kindSchema(networkFields.schema),
  columns: [
    {
      name: "CIDRs",
      type: "string",
      value: (object) => cidrsOf(object as ServiceCidr).join(","),
    },
    ageColumn,
  ],
  strategy: {
    ...networkStrategy,
    validateUpdate: (
      next: ServiceCidr,
      old: ServiceCidr,
      { info }: { readonly info: { readonly subresource: string } },
    ) => (info.subresource === "status" ? [] : validateNetworkChange(next, old)),
  },
});

const addressFields = s.object({
  spec: s.object({
    parentRef: s.object({
      group: s.string(),
      resource: s.string(),
      namespace: s.string(),
      name: s.string(),
    }),
  }),
});

type IpAddress = KindOf<typeof addressFields>;

function validateAddress({ spec }: IpAddress): readonly FieldError[] {
  const parent = spec?.parentRef;
  const path = "spec.parentRef";
  if (parent === undefined) return [requiredError(path)];
  const { group = "", resource = "", name = "", namespace = "" } = parent;
  return [
    ...(group === "" ? [] : subdomainFaults(`${path}.group`, group)),
    ...segmentFaults(`${path}.resource`, resource),
    ...segmentFaults(`${path}.name`, name),
    ...(namespace === "" ? [] : textFaults(`${path}.namespace`, namespace, isValidPathSegmentName)),
  ];
}

const parentText = ({ spec }: IpAddress): string => {
  const parent = spec?.parentRef;
  if (parent === undefined) return "<none>";
  const { group = "", resource = "", namespace = "", name = "" } = parent;
  return [group === "" ? resource : `${resource}.${group}`, namespace, name].filter((part) => part !== "").join("/");
};

export const ipAddresses: ResourceDefinition = defineBuiltin({
  group: "networking.k8s.io",
  version: "v1",
  kind: "IPAddress",
  plural: "ipaddresses",
  shortNames: ["ip"],
  namespaced: false,
  schema: kindSchema(addressFields.schema),
  columns: [
    {
      name: "ParentRef",
      type: "string",
      value: (object) => parentText(object as IpAddress),
    },
  ],
  strategy: {
    allowUnconditionalUpdate: true,
    validateName: (name) => addressFaults("", name).map(({ message }) => message.slice(message.indexOf('": ') + 3)),
    validate: validateAddress,
    validateUpdate: (next: IpAddress, old: IpAddress) => {
      const now = (next.spec?.parentRef ?? null) as JsonValue;
      return [
        ...validateAddress(next),
        ...(equalJson(now, (old.spec?.parentRef ?? null) as JsonValue)
          ? []
          : [invalidError("spec.parentRef", now, IMMUTABLE)]),
      ];
    },
  },
});
