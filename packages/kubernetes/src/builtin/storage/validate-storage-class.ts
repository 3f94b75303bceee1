// Requirements of a StorageClass.
// Source: k8s.io/kubernetes/pkg/apis/storage/validation/validation.go (ValidateStorageClass)

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { byteLength } from "@postern/apimachinery/validation/byte-length";
import {
  duplicateError,
  type FieldError,
  indexPath,
  invalidError,
  requiredError,
  tooLongError,
} from "@postern/apimachinery/validation/field-error";
import { validateLabelName } from "@postern/apimachinery/validation/labels";
import { choiceFaults, qualifiedFaults } from "../field-checks.ts";

type Requirement = { readonly key?: string; readonly values?: readonly string[] };
type Term = { readonly matchLabelExpressions?: readonly Requirement[] };
export type StorageClassFields = {
  readonly provisioner?: string | undefined;
  readonly parameters?: { readonly [name: string]: string } | undefined;
  readonly reclaimPolicy?: string | undefined;
  readonly volumeBindingMode?: string | undefined;
  readonly allowedTopologies?: readonly unknown[] | undefined;
};

export const validateStorageClass = (storageClass: StorageClassFields): readonly FieldError[] => {
  const { provisioner = "", parameters, reclaimPolicy, volumeBindingMode, allowedTopologies = [] } = storageClass;
  return [
    ...(provisioner === ""
      ? [requiredError("provisioner")]
      : qualifiedFaults("provisioner", provisioner.toLowerCase())),
    ...parameterFaults("parameters", parameters),
    ...(reclaimPolicy === "" ? [] : choiceFaults("reclaimPolicy", reclaimPolicy, ["Delete", "Retain"])),
    ...choiceFaults("volumeBindingMode", volumeBindingMode, ["Immediate", "WaitForFirstConsumer"]),
    // The schema keeps terms as they are.
    ...topologyFaults("allowedTopologies", allowedTopologies as readonly Term[]),
  ];
};

const MAX_PARAMETERS = 512;
const MAX_BYTES = 256 * 1024;

export function parameterFaults(
  path: string,
  parameters: { readonly [name: string]: string } = {},
): readonly FieldError[] {
  const entries = Object.entries(parameters);
  if (entries.length > MAX_PARAMETERS) return [tooLongError(path, MAX_PARAMETERS)];
  const bytes = entries.reduce((sum, [name, value]) => sum + byteLength(name) + byteLength(value), 0);
  return [
    ...entries.filter(([name]) => name === "").map(([name]) => invalidError(path, name, "field can not be empty.")),
    ...(bytes > MAX_BYTES ? [tooLongError(path, MAX_BYTES)] : []),
  ];
}

/** The values of each key; of equal terms the second is a duplicate. A term without keys is equal to none before, and is refused as upstream does. */
function topologyFaults(path: string, terms: readonly Term[]): readonly FieldError[] {
  const seen: JsonValue[] = [];
  return terms.flatMap((term, index) => {
    const at = `${indexPath(path, index)}.matchLabelExpressions`;
    const values = new Map<string, readonly string[]>();
    const faults = (term.matchLabelExpressions ?? []).flatMap((requirement, each) => {
      const { key = "" } = requirement;
      const known = values.has(key) ? [duplicateError(`${indexPath(at, each)}.key`, key)] : [];
      values.set(key, [...new Set(requirement.values)].toSorted());
      return [...requirementFaults(requirement, indexPath(at, each)), ...known];
    });
    const asJson: JsonValue = Object.fromEntries(values);
    // Upstream compares with empty places of its list, too.
    const isTwice = values.size === 0 || seen.some((other) => equalJson(other, asJson));
    seen.push(asJson);
    return isTwice ? [...faults, duplicateError(at, "")] : faults;
  });
}

const requirementFaults = ({ key = "", values = [] }: Requirement, path: string): readonly FieldError[] => [
  ...(values.length === 0 ? [requiredError(`${path}.values`)] : []),
  ...values.flatMap((value, index) =>
    values.indexOf(value) < index ? [duplicateError(indexPath(`${path}.values`, index), value)] : [],
  ),
  ...validateLabelName(key, `${path}.key`),
];
