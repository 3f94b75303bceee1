// Requirements of affinities.
// Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go (validateAffinity)

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import {
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import {
  type LabelSelector,
  type LabelSelectorRequirement,
  validateLabelName,
  validateLabelSelector,
} from "@postern/apimachinery/validation/labels";
import { isValidLabelValue } from "@postern/apimachinery/validation/string-validators";
import { labelFaults, subdomainFaults, textFaults } from "../../field-checks.ts";
import { listAt, numberAt, objectAt, optionalObjectAt, textAt } from "../json-members.ts";

type Faults = readonly FieldError[];

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";

export function validateAffinity(affinity: JsonObject, path: string): Faults {
  const nodes = objectAt(affinity, "nodeAffinity");
  return [
    ...nodeSelectorFaults(optionalObjectAt(nodes, REQUIRED), `${path}.nodeAffinity.${REQUIRED}`),
    ...listAt(nodes, PREFERRED).flatMap((each, index) => {
      const at = indexPath(`${path}.nodeAffinity.${PREFERRED}`, index);
      return [
        ...weightFaults(each, at),
        ...nodeTermFaults(objectAt(each, "preference"), `${at}.preference`, { checksValues: false }),
      ];
    }),
    ...["podAffinity", "podAntiAffinity"].flatMap((name) =>
      podAffinityFaults(objectAt(affinity, name), `${path}.${name}`),
    ),
  ];
}

function weightFaults(term: JsonValue, path: string): Faults {
  const weight = numberAt(term, "weight") ?? 0;
  return weight <= 0 || weight > 100 ? [invalidError(`${path}.weight`, weight, "must be in the range 1-100")] : [];
}

export function nodeSelectorFaults(selector: JsonObject | undefined, path: string): Faults {
  if (selector === undefined) return [];
  const terms = listAt(selector, "nodeSelectorTerms");
  if (terms.length === 0) {
    return [requiredError(`${path}.nodeSelectorTerms`, "must have at least one node selector term")];
  }
  return terms.flatMap((term, index) =>
    nodeTermFaults(term, indexPath(`${path}.nodeSelectorTerms`, index), { checksValues: true }),
  );
}

/** Preferred values may be no values of labels: they match no Node, and harm nothing. */
function nodeTermFaults(term: JsonValue, path: string, { checksValues }: { readonly checksValues: boolean }): Faults {
  return [
    ...listAt(term, "matchExpressions").flatMap((each, index) =>
      expressionFaults(each, indexPath(`${path}.matchExpressions`, index), checksValues),
    ),
    ...listAt(term, "matchFields").flatMap((each, index) => fieldFaults(each, indexPath(`${path}.matchFields`, index))),
  ];
}

const textsAt = (value: JsonValue, name: string): readonly string[] =>
  listAt(value, name).filter((each) => typeof each === "string");

function expressionFaults(requirement: JsonValue, path: string, checksValues: boolean): Faults {
  const values = textsAt(requirement, "values");
  return [
    ...operatorFaults(textAt(requirement, "operator"), values.length, path),
    ...validateLabelName(textAt(requirement, "key"), `${path}.key`),
    ...(checksValues ? values : []).flatMap((value, index) =>
      textFaults(indexPath(`${path}.values`, index), value, isValidLabelValue),
    ),
  ];
}

function operatorFaults(operator: string, count: number, path: string): Faults {
  const at = `${path}.values`;
  switch (operator) {
    case "In":
    case "NotIn":
      return count === 0 ? [requiredError(at, "must be specified when `operator` is 'In' or 'NotIn'")] : [];
    case "Exists":
    case "DoesNotExist":
      return count > 0
        ? [forbiddenError(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]
        : [];
    case "Gt":
    case "Lt":
      return count === 1 ? [] : [requiredError(at, "must be specified single value when `operator` is 'Lt' or 'Gt'")];
    default:
      return [invalidError(`${path}.operator`, operator, "not a valid selector operator")];
  }
}

function fieldFaults(requirement: JsonValue, path: string): Faults {
  const [key, operator, values] = [
    textAt(requirement, "key"),
    textAt(requirement, "operator"),
    textsAt(requirement, "values"),
  ];
  const one = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
  return [
    ...(!["In", "NotIn"].includes(operator)
      ? [invalidError(`${path}.operator`, operator, "not a valid selector operator")]
      : values.length === 1
        ? []
        : [requiredError(`${path}.values`, one)]),
    ...(key === "metadata.name"
      ? values.flatMap((value, index) => subdomainFaults(indexPath(`${path}.values`, index), value))
      : [invalidError(`${path}.key`, key, "not a valid field selector key")]),
  ];
}

const podAffinityFaults = (affinity: JsonObject, path: string): Faults => [
  ...listAt(affinity, REQUIRED).flatMap((term, index) => podTermFaults(term, indexPath(`${path}.${REQUIRED}`, index))),
  ...listAt(affinity, PREFERRED).flatMap((each, index) => {
    const at = indexPath(`${path}.${PREFERRED}`, index);
    return [...weightFaults(each, at), ...podTermFaults(objectAt(each, "podAffinityTerm"), `${at}.podAffinityTerm`)];
  }),
];

function podTermFaults(term: JsonValue, path: string): Faults {
  const topology = textAt(term, "topologyKey");
  const selector = optionalObjectAt(term, "labelSelector") as LabelSelector | undefined;
  const [match, mismatch] = [textsAt(term, "matchLabelKeys"), textsAt(term, "mismatchLabelKeys")];
  return [
    ...validateLabelSelector(selector, `${path}.labelSelector`),
    ...validateLabelSelector(
      optionalObjectAt(term, "namespaceSelector") as LabelSelector | undefined,
      `${path}.namespaceSelector`,
    ),
    ...textsAt(term, "namespaces").flatMap((name) => labelFaults(`${path}.namespace`, name)),
    ...labelKeyFaults(match, selector, `${path}.matchLabelKeys`),
    ...labelKeyFaults(mismatch, selector, `${path}.mismatchLabelKeys`),
    ...repeatedKeyFaults(match, selector, path),
    ...match.flatMap((key, index) =>
      mismatch.includes(key)
        ? [
            invalidError(
              indexPath(`${path}.matchLabelKeys`, index),
              key,
              "exists in both matchLabelKeys and mismatchLabelKeys",
            ),
          ]
        : [],
    ),
    ...(topology === "" ? [requiredError(`${path}.topologyKey`, "can not be empty")] : []),
    ...validateLabelName(topology, `${path}.topologyKey`),
  ];
}

function labelKeyFaults(keys: readonly string[], selector: LabelSelector | undefined, path: string): Faults {
  if (keys.length === 0) return [];
  if (selector === undefined) return [forbiddenError(path, "must not be specified when labelSelector is not set")];
  return keys.flatMap((key, index) => validateLabelName(key, indexPath(path, index)));
}

/** The selector already has what was made of these keys: a second requirement of the same key is the client's. */
function repeatedKeyFaults(keys: readonly string[], selector: LabelSelector | undefined, path: string): Faults {
  const seen = new Set(Object.keys(selector?.matchLabels ?? {}));
  return (selector?.matchExpressions ?? []).flatMap(({ key = "" }: LabelSelectorRequirement) => {
    const isRepeated = seen.has(key);
    seen.add(key);
    const index = keys.lastIndexOf(key);
    return isRepeated && index >= 0
      ? [invalidError(indexPath(path, index), key, "exists in both matchLabelKeys and labelSelector")]
      : [];
  });
}
