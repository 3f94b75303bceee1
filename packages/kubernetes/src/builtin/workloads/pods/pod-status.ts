// The status of a pod, as a kubelet or a client in its place writes it.
// Source: k8s.io/kubernetes/pkg/registry/core/pod/strategy.go (podStatusStrategy), pkg/apis/core/v1/conversion.go (PodStatus),
// pkg/apis/core/validation/validation.go (ValidatePodStatusUpdate)

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import type { Infer } from "@postern/apimachinery/schema/builder";
import { type FieldError, forbiddenError, indexPath, invalidError } from "@postern/apimachinery/validation/field-error";
import { addressWarnings } from "../../address-warnings.ts";
import { addressFaults, qualifiedFaults, subdomainFaults } from "../../field-checks.ts";
import { listAt, numberAt, objectAt, optionalObjectAt, textAt } from "../json-members.ts";
import type { Container, PodSpec, podStatusFields } from "./pod-fields.ts";

export type PodStatus = Infer<typeof podStatusFields>;

type Condition = NonNullable<PodStatus["conditions"]>[number];

/** The status as it is stored: `podIP` is the first of `podIPs`, and values that a writer leaves out and may not take back stay. */
export function withKeptStatus(status: PodStatus, old: PodStatus): PodStatus {
  const { podIP = "", podIPs = [], qosClass = "", observedGeneration = 0, conditions } = status;
  const [first] = podIPs;
  const addresses = podIP !== "" && first?.ip !== podIP ? [{ ip: podIP }] : podIPs;
  return {
    ...status,
    ...(addresses[0] === undefined ? {} : { podIP: addresses[0].ip, podIPs: addresses }),
    ...(qosClass === "" && old.qosClass !== undefined ? { qosClass: old.qosClass } : {}),
    ...(observedGeneration === 0 && old.observedGeneration !== undefined
      ? { observedGeneration: old.observedGeneration }
      : {}),
    ...(conditions === undefined ? {} : { conditions: withGenerations(conditions, old.conditions ?? []) }),
  };
}

const withGenerations = (conditions: readonly Condition[], old: readonly Condition[]): Condition[] =>
  conditions.map((condition) => {
    const before = old.find(({ type }) => type === condition.type)?.observedGeneration;
    return (condition.observedGeneration ?? 0) === 0 && before !== undefined
      ? { ...condition, observedGeneration: before }
      : condition;
  });

type WithStatus = { readonly spec?: PodSpec | undefined; readonly status?: PodStatus | undefined };

export function validatePodStatus({ spec = {}, status = {} }: WithStatus, { status: old = {} }: WithStatus) {
  const { nominatedNodeName = "", observedGeneration = 0, hostIP = "" } = status;
  const hostIPs = addressesOf(status.hostIPs);
  return [
    ...(status.conditions ?? []).flatMap(conditionFaults),
    ...(nominatedNodeName === "" || nominatedNodeName === old.nominatedNodeName
      ? []
      : nominationFaults(nominatedNodeName, spec)),
    ...generationFaults("status", observedGeneration),
    ...(status.qosClass === old.qosClass
      ? []
      : [invalidError("status.qosClass", status.qosClass ?? "", "field is immutable")]),
    ...transitionFaults("containerStatuses", status, old, spec, spec.containers ?? []),
    ...transitionFaults("initContainerStatuses", status, old, spec, spec.initContainers ?? []),
    ...addressListFaults("status.podIPs", addressesOf(status.podIPs), addressesOf(old.podIPs)),
    ...(hostIPs.length > 0 && hostIPs[0] !== hostIP
      ? [invalidError("status.hostIPs[0].ip", hostIPs[0] ?? "", "must be equal to `hostIP`")]
      : []),
    ...addressListFaults("status.hostIPs", hostIPs, addressesOf(old.hostIPs)),
  ];
}

const nominationFaults = (node: string, { nodeName = "" }: PodSpec): readonly FieldError[] => [
  ...subdomainFaults("status.nominatedNodeName", node),
  ...(nodeName === ""
    ? []
    : [forbiddenError("status.nominatedNodeName", "may not be set on pods that are already bound to a node")]),
];

const generationFaults = (path: string, generation: number | bigint): readonly FieldError[] =>
  generation < 0
    ? [invalidError(`${path}.observedGeneration`, Number(generation), "must be a non-negative integer")]
    : [];

const OF_THE_SYSTEM = new Set(["PodScheduled", "Ready", "Initialized"]);

function conditionFaults({ type, observedGeneration = 0 }: Condition, index: number): readonly FieldError[] {
  const path = indexPath("status.conditions", index);
  return [
    ...generationFaults(path, observedGeneration),
    // The path is upstream's.
    ...(OF_THE_SYSTEM.has(type) ? [] : qualifiedFaults(`${path}.Type`, type)),
  ];
}

/** Ephemeral containers are not restarted, and upstream looks at others only. A container that has ended goes on only where it is restarted. */
function transitionFaults(
  list: "containerStatuses" | "initContainerStatuses",
  status: PodStatus,
  old: PodStatus,
  spec: PodSpec,
  containers: readonly Container[],
): readonly FieldError[] {
  const rules = [...(spec.containers ?? []), ...(spec.initContainers ?? [])].flatMap(rulesOf);
  if (rules.some((rule) => textAt(rule, "action") === "RestartAllContainers")) return [];
  return (old[list] ?? []).flatMap((before, index) => {
    const ended = endOf(before);
    const after = status[list]?.find((each) => textAt(each, "name") === textAt(before, "name"));
    if (ended === undefined || after === undefined || endOf(after) !== undefined) return [];
    const container = containers.find(({ name }) => name === textAt(before, "name"));
    return container !== undefined && isRestarted(container, spec, numberAt(ended, "exitCode") ?? 0)
      ? []
      : [
          forbiddenError(
            `${indexPath(`status.${list}`, index)}.state`,
            "may not be transitioned to non-terminated state",
          ),
        ];
  });
}

const endOf = (status: JsonObject): JsonObject | undefined => optionalObjectAt(objectAt(status, "state"), "terminated");
const rulesOf = ({ restartPolicyRules = [] }: Container): readonly JsonObject[] => restartPolicyRules;

// Source: k8s.io/kubernetes/pkg/api/v1/pod/util.go (ContainerShouldRestart)
function isRestarted(container: Container, { restartPolicy = "Always" }: PodSpec, exitCode: number): boolean {
  const own = container.restartPolicy;
  if (own !== undefined && rulesOf(container).some((rule) => matches(objectAt(rule, "exitCodes"), exitCode)))
    return true;
  const policy = own ?? restartPolicy;
  return policy === "Always" || (policy === "OnFailure" && exitCode !== 0);
}

function matches(exitCodes: JsonObject, exitCode: number): boolean {
  const isListed = listAt(exitCodes, "values").includes(exitCode);
  const operator = textAt(exitCodes, "operator");
  return (operator === "In" && isListed) || (operator === "NotIn" && !isListed);
}

const addressesOf = (list: readonly JsonValue[] | undefined): readonly string[] =>
  (list ?? []).map((each) => textAt(each, "ip"));

/** Addresses that are stored may stay. */
function addressListFaults(path: string, addresses: readonly string[], old: readonly string[]): readonly FieldError[] {
  const faults = addresses.flatMap((address, index) =>
    old.includes(address) ? [] : addressFaults(indexPath(path, index), address),
  );
  const families = new Set(addresses.map((address) => address.includes(":")));
  return addresses.length > families.size
    ? [
        ...faults,
        invalidError(
          path,
          addresses.map((IP) => ({ IP })),
          "may specify no more than one IP for each IP family",
        ),
      ]
    : faults;
}

export const podStatusWarnings = ({ status = {} }: WithStatus): readonly string[] =>
  (["podIPs", "hostIPs"] as const).flatMap((list) =>
    addressesOf(status[list]).flatMap((address, index) =>
      addressWarnings(`${indexPath(`status.${list}`, index)}.ip`, address),
    ),
  );
