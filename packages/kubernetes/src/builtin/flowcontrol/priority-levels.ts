// PriorityLevelConfigurations: how much of a server each level of requests may have. They are stored; the server's own flow control does not read them.
// Source: k8s.io/kubernetes/pkg/registry/flowcontrol/prioritylevelconfiguration/strategy.go, pkg/apis/flowcontrol/{v1/defaults.go,validation}

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import {
  type FieldError,
  forbiddenError,
  invalidError,
  notSupportedError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import type { PrinterColumn, ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { statusStrategy } from "../workloads/status-strategy.ts";
import { flowControlConditions } from "./flow-control-conditions.ts";

const fields = s.object({
  spec: s.object({
    type: s.string(),
    limited: s.object({
      nominalConcurrencyShares: s.int32(),
      limitResponse: s.object({
        type: s.string(),
        queuing: s.object({
          queues: s.int32(),
          handSize: s.int32(),
          queueLengthLimit: s.int32(),
        }),
      }),
      lendablePercent: s.int32(),
      borrowingLimitPercent: s.int32(),
    }),
    exempt: s.object({
      nominalConcurrencyShares: s.int32(),
      lendablePercent: s.int32(),
    }),
  }),
  status: s.object({
    conditions: flowControlConditions(),
  }),
});

type PriorityLevel = KindOf<typeof fields>;
type Spec = NonNullable<PriorityLevel["spec"]>;
type Limited = NonNullable<Spec["limited"]>;
type Exempt = NonNullable<Spec["exempt"]>;
type Response = NonNullable<Limited["limitResponse"]>;
type Queuing = NonNullable<Response["queuing"]>;

const withQueuing = ({ limitResponse, ...limited }: Limited): Limited => ({
  ...limited,
  nominalConcurrencyShares: limited.nominalConcurrencyShares ?? 30,
  lendablePercent: limited.lendablePercent ?? 0,
  limitResponse: {
    ...limitResponse,
    ...(limitResponse?.queuing === undefined ? {} : { queuing: completed(limitResponse.queuing) }),
  },
});

/** Zero is no number of them. */
const completed = (queuing: Queuing): Queuing => ({
  queues: queuing.queues || 64,
  handSize: queuing.handSize || 8,
  queueLengthLimit: queuing.queueLengthLimit || 50,
});

const withExempt = (exempt: Exempt): Exempt => ({
  nominalConcurrencyShares: exempt.nominalConcurrencyShares ?? 0,
  lendablePercent: exempt.lendablePercent ?? 0,
});

function validate({ metadata, spec = {} }: PriorityLevel): readonly FieldError[] {
  const { type = "", limited, exempt } = spec;
  const isMismatch = (metadata.name === "exempt") !== (type === "Exempt");
  return [
    ...(isMismatch && (type === "Exempt" || type === "Limited" || metadata.name === "exempt")
      ? [invalidError("spec.type", type, "must be 'Exempt' if and only if `name` is 'exempt'")]
      : []),
    ...typeFaults(type, limited, exempt),
  ];
}

function typeFaults(type: string, limited: Limited | undefined, exempt: Exempt | undefined): readonly FieldError[] {
  if (type === "Exempt") {
    return [
      ...(limited === undefined ? [] : [forbiddenError("spec.limited", "must be nil if the type is not Limited")]),
      ...(exempt === undefined ? [] : shareFaults(exempt, "spec.exempt")),
    ];
  }
  if (type !== "Limited") return [notSupportedError("spec.type", type, ["Exempt", "Limited"])];
  return [
    ...(exempt === undefined ? [] : [forbiddenError("spec.exempt", "must be nil if the type is Limited")]),
    ...(limited === undefined
      ? [requiredError("spec.limited", "must not be empty when type is Limited")]
      : limitedFaults(limited, "spec.limited")),
  ];
}

const sharesFaults = (shares = 0, path: string): readonly FieldError[] =>
  shares < 0 ? [invalidError(`${path}.nominalConcurrencyShares`, shares, "must be a non-negative integer")] : [];
const lendableFaults = (percent = 0, path: string): readonly FieldError[] =>
  percent < 0 || percent > 100
    ? [invalidError(`${path}.lendablePercent`, percent, "must be between 0 and 100, inclusive")]
    : [];

const shareFaults = ({ nominalConcurrencyShares, lendablePercent }: Exempt, path: string): readonly FieldError[] => [
  ...sharesFaults(nominalConcurrencyShares, path),
  ...lendableFaults(lendablePercent, path),
];

function limitedFaults(limited: Limited, path: string): readonly FieldError[] {
  const { borrowingLimitPercent = 0 } = limited;
  return [
    ...sharesFaults(limited.nominalConcurrencyShares, path),
    ...responseFaults(limited.limitResponse ?? {}, `${path}.limitResponse`),
    ...lendableFaults(limited.lendablePercent, path),
    ...(borrowingLimitPercent < 0
      ? [
          invalidError(
            `${path}.borrowingLimitPercent`,
            borrowingLimitPercent,
            "if specified, must be a non-negative integer",
          ),
        ]
      : []),
  ];
}

function responseFaults({ type = "", queuing }: Response, path: string): readonly FieldError[] {
  const at = `${path}.queuing`;
  if (type === "Reject") {
    return queuing === undefined
      ? []
      : [forbiddenError(at, "must be nil if limited.limitResponse.type is not Limited")];
  }
  if (type !== "Queue") return [notSupportedError(`${path}.type`, type, ["Queue", "Reject"])];
  return queuing === undefined
    ? [requiredError(at, "must not be empty if limited.limitResponse.type is Limited")]
    : queuingFaults(queuing, at);
}

const MAX_QUEUES = 10_000_000;
const HASH_BITS = 60;

function queuingFaults(
  { queues = 0, handSize = 0, queueLengthLimit = 0 }: Queuing,
  path: string,
): readonly FieldError[] {
  const bits = Math.ceil(Math.log2(queues) * handSize);
  const hand = `${path}.handSize`;
  return [
    ...(queueLengthLimit <= 0 ? [invalidError(`${path}.queueLengthLimit`, queueLengthLimit, "must be positive")] : []),
    ...(queues <= 0 ? [invalidError(`${path}.queues`, queues, "must be positive")] : []),
    ...(queues > MAX_QUEUES ? [invalidError(`${path}.queues`, queues, `must not be greater than ${MAX_QUEUES}`)] : []),
    ...(handSize <= 0
      ? [invalidError(hand, handSize, "must be positive")]
      : handSize > queues
        ? [invalidError(hand, handSize, `should not be greater than queues (${queues})`)]
        : bits > HASH_BITS
          ? [
              invalidError(
                hand,
                handSize,
                `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${HASH_BITS}`,
              ),
            ]
          : []),
  ];
}

const column = (name: string, value: (spec: Spec) => number | undefined): PrinterColumn => ({
  name,
  type: "string",
  value: (object) => value((object as PriorityLevel).spec ?? {}) ?? "<none>",
});

export const priorityLevelConfigurations: ResourceDefinition = defineBuiltin({
  group: "flowcontrol.apiserver.k8s.io",
  version: "v1",
  kind: "PriorityLevelConfiguration",
  plural: "prioritylevelconfigurations",
  namespaced: false,
  hasStatus: true,
  tracksGeneration: true,
  schema: kindSchema(fields.schema),
  columns: [
    {
      name: "Type",
      type: "string",
      value: ".spec.type",
    },
    column("NominalConcurrencyShares", ({ limited, exempt }) => (limited ?? exempt)?.nominalConcurrencyShares),
    column("Queues", ({ limited }) => limited?.limitResponse?.queuing?.queues),
    column("HandSize", ({ limited }) => limited?.limitResponse?.queuing?.handSize),
    column("QueueLengthLimit", ({ limited }) => limited?.limitResponse?.queuing?.queueLengthLimit),
    ageColumn,
  ],
  setDefaults: (object) => {
    const { spec } = object as PriorityLevel;
    if (spec === undefined) return object;
    const { limited, exempt } = spec;
    return {
      ...object,
      spec: {
        ...spec,
        ...(limited === undefined ? {} : { limited: withQueuing(limited) }),
        ...(exempt === undefined ? {} : { exempt: withExempt(exempt) }),
      },
    };
  },
  strategy: statusStrategy<PriorityLevel>(validate),
});
