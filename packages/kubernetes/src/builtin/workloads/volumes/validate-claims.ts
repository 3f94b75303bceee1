// Requirements of PersistentVolumes and their claims.
// Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go (ValidatePersistentVolumeSpec, ValidatePersistentVolumeClaimSpec)

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { parseAmount } from "@postern/apimachinery/quantity/quantity";
import {
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  keyPath,
  notSupportedError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { type LabelSelector, validateLabelSelector } from "@postern/apimachinery/validation/labels";
import { choiceFaults, labelFaults, subdomainFaults } from "../../field-checks.ts";
import { quantityText } from "../../quotas/quantities.ts";
import { listAt, objectAt, optionalObjectAt, optionalTextAt, textAt } from "../json-members.ts";
import type { PodTemplate } from "../pods/pod-fields.ts";
import { validateRestarts, validateSelectedTemplate } from "../pods/validate-pod.ts";
import { hostPathFaults, nfsFaults } from "../pods/validate-pod-volumes.ts";

const MODES = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const VOLUME_MODES = ["Block", "Filesystem"];

function modeFaults(modes: readonly string[], path: string): readonly FieldError[] {
  const isAlone = modes.every((mode) => mode === "ReadWriteOncePod" || !MODES.includes(mode));
  return [
    ...modes.filter((mode) => !MODES.includes(mode)).map((mode) => notSupportedError(path, mode, MODES)),
    ...(modes.includes("ReadWriteOncePod") && !isAlone
      ? [forbiddenError(path, "may not use ReadWriteOncePod with other access modes")]
      : []),
  ];
}

const amountFaults = (path: string, value: JsonValue): readonly FieldError[] =>
  (parseAmount(quantityText(value)) ?? 0n) > 0n
    ? []
    : [invalidError(path, quantityText(value), "must be greater than zero")];

type ClaimSpec = {
  readonly accessModes?: readonly string[];
  readonly selector?: LabelSelector;
  readonly resources?: { readonly requests?: { readonly [name: string]: JsonValue } };
  readonly storageClassName?: string;
  readonly volumeMode?: string;
};

/** `path`: `spec`, or that of a template. */
export function validateClaimSpec(spec: ClaimSpec, path: string): readonly FieldError[] {
  const { accessModes = [], selector, storageClassName = "", volumeMode } = spec;
  const storage = spec.resources?.requests?.["storage"];
  const at = keyPath(`${path}.resources`, "storage");
  return [
    ...(accessModes.length === 0 ? [requiredError(`${path}.accessModes`, "at least 1 access mode is required")] : []),
    ...validateLabelSelector(selector, `${path}.selector`),
    ...modeFaults(accessModes, `${path}.accessModes`),
    ...(storage === undefined ? [requiredError(at)] : amountFaults(at, storage)),
    ...(storageClassName === "" ? [] : subdomainFaults(`${path}.storageClassName`, storageClassName)),
    ...choiceFaults(`${path}.volumeMode`, volumeMode, VOLUME_MODES),
  ];
}

/** A claim that the schema keeps as it is. */
const validateClaimTemplate = (spec: JsonValue, path: string): readonly FieldError[] => {
  const volumeMode = optionalTextAt(spec, "volumeMode");
  const requests = objectAt(objectAt(spec, "resources"), "requests");
  return validateClaimSpec(
    {
      accessModes: listAt(spec, "accessModes").map(String),
      resources: { requests: { ...(requests["storage"] === undefined ? {} : { storage: requests["storage"] }) } },
      storageClassName: textAt(spec, "storageClassName"),
      ...(volumeMode === undefined ? {} : { volumeMode }),
    },
    path,
  );
};

const MAX_NAME = 63;

type Names = { readonly serviceName?: string; readonly volumeClaimTemplates?: readonly JsonValue[] };

/** The claims of the pods of a StatefulSet, and the names that become a part of theirs. */
export const validateStatefulSetNames = (
  name = "",
  { serviceName = "", volumeClaimTemplates = [] }: Names = {},
): readonly FieldError[] => [
  ...(serviceName === "" ? [] : labelFaults("spec.serviceName", serviceName)),
  ...volumeClaimTemplates.flatMap((claim, index) =>
    validateClaimTemplate(objectAt(claim, "spec"), `${indexPath("spec.volumeClaimTemplates", index)}.spec`),
  ),
  ...(name.length > MAX_NAME
    ? [invalidError("metadata.name", name, `must be no more than ${MAX_NAME} characters`)]
    : []),
];

type WithClaims = {
  readonly spec?:
    | {
        readonly selector?: LabelSelector | undefined;
        readonly template?: PodTemplate | undefined;
        readonly volumeClaimTemplates?: readonly unknown[];
      }
    | undefined;
};

/** A StatefulSet as its pods are checked: with the volumes of its claims, and without the names that each pod gets from it. */
function withClaimVolumes<T extends WithClaims>(workload: T): T {
  const { template, volumeClaimTemplates = [] } = workload.spec ?? {};
  if (template?.spec === undefined) return workload;
  // Claims are kept as they are.
  const names = volumeClaimTemplates.map((claim) => textAt(objectAt(claim as JsonValue, "metadata"), "name"));
  const own = (template.spec.volumes ?? []).filter(({ name }) => !names.includes(name));
  const volumes = [...names.map((name) => ({ name, persistentVolumeClaim: { claimName: name } })), ...own];
  const { hostname: _h, subdomain: _s, ...spec } = template.spec;
  return { ...workload, spec: { ...workload.spec, template: { ...template, spec: { ...spec, volumes } } } };
}

/** Pods of an older version are not checked where these would not be valid today. */
export function validateStatefulSetTemplate(workload: WithClaims, old: WithClaims | undefined): readonly FieldError[] {
  const faultsOf = (each: WithClaims) => validateSelectedTemplate(withClaimVolumes(each), "StatefulSet");
  const isOld = old !== undefined && faultsOf(old).length > 0;
  return isOld ? validateSelectedTemplate(workload, "StatefulSet", validateRestarts) : faultsOf(workload);
}

/** In the order of upstream. */
const SOURCES = [
  "hostPath",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "glusterfs",
  "flocker",
  "nfs",
  "rbd",
  "quobyte",
  "cephfs",
  "iscsi",
  "cinder",
  "fc",
  "flexVolume",
  "azureFile",
  "vsphereVolume",
  "photonPersistentDisk",
  "portworxVolume",
  "azureDisk",
  "scaleIO",
  "local",
  "storageos",
  "csi",
];

const RECLAIM_POLICIES = ["Delete", "Recycle", "Retain"];

export function validateVolumeSpec(spec: JsonValue): readonly FieldError[] {
  const path = "spec";
  const modes = listAt(spec, "accessModes").map(String);
  const capacity = objectAt(spec, "capacity");
  const names = Object.keys(capacity);
  const storageClass = textAt(spec, "storageClassName");
  const isRoot = /^\/+$/.test(textAt(objectAt(spec, "hostPath"), "path"));
  return [
    ...(modes.length === 0 ? [requiredError(`${path}.accessModes`)] : []),
    ...modeFaults(modes, `${path}.accessModes`),
    ...(names.length === 0 ? [requiredError(`${path}.capacity`)] : []),
    ...(names.length === 1 && names[0] === "storage"
      ? []
      : [notSupportedError(`${path}.capacity`, capacity, ["storage"], names.length === 0 ? "null" : undefined)]),
    ...Object.entries(capacity).flatMap(([name, value = null]) =>
      amountFaults(keyPath(`${path}.capacity`, name), value),
    ),
    ...choiceFaults(
      `${path}.persistentVolumeReclaimPolicy`,
      optionalTextAt(spec, "persistentVolumeReclaimPolicy"),
      RECLAIM_POLICIES,
    ),
    ...sourceFaults(spec, path),
    ...(isRoot && textAt(spec, "persistentVolumeReclaimPolicy") === "Recycle"
      ? [forbiddenError(`${path}.persistentVolumeReclaimPolicy`, "may not be 'recycle' for a hostPath mount of '/'")]
      : []),
    ...(storageClass === "" ? [] : subdomainFaults(`${path}.storageClassName`, storageClass)),
    ...choiceFaults(`${path}.volumeMode`, optionalTextAt(spec, "volumeMode"), VOLUME_MODES),
  ];
}

/** The volume of a pod itself, which a driver attaches. Source: ValidatePersistentVolumeSpec with `validateInlinePersistentVolumeSpec`. */
export function validateInlineVolumeSpec(spec: JsonValue, path: string): readonly FieldError[] {
  const modes = listAt(spec, "accessModes").map(String);
  const policy = textAt(spec, "persistentVolumeReclaimPolicy");
  const mode = textAt(spec, "volumeMode");
  const refused = (name: string, text = "may not be specified in the context of inline volumes"): FieldError =>
    forbiddenError(`${path}.${name}`, text);
  return [
    ...(optionalObjectAt(spec, "claimRef") === undefined ? [] : [refused("claimRef")]),
    ...(Object.keys(objectAt(spec, "capacity")).length === 0 ? [] : [refused("capacity")]),
    ...(optionalObjectAt(spec, "csi") === undefined
      ? [requiredError(`${path}.csi`, "has to be specified in the context of inline volumes")]
      : []),
    ...(modes.length === 0 ? [requiredError(`${path}.accessModes`)] : []),
    ...modeFaults(modes, `${path}.accessModes`),
    ...(policy === "" || policy === "Retain"
      ? []
      : [refused("persistentVolumeReclaimPolicy", "may only be Retain in the context of inline volumes")]),
    ...(optionalObjectAt(spec, "nodeAffinity") === undefined ? [] : [refused("nodeAffinity")]),
    ...sourceFaults(spec, path),
    ...(textAt(spec, "storageClassName") === "" ? [] : [refused("storageClassName")]),
    ...(mode === "" || mode === "Filesystem"
      ? []
      : [refused("volumeMode", "may not specify volumeMode other than Filesystem in the context of inline volumes")]),
  ];
}

function sourceFaults(spec: JsonValue, path: string): readonly FieldError[] {
  const [first, ...others] = SOURCES.filter((name) => optionalObjectAt(spec, name) !== undefined);
  if (first === undefined) return [requiredError(path, "must specify a volume type")];
  const source = objectAt(spec, first);
  const at = `${path}.${first}`;
  const own = first === "hostPath" ? hostPathFaults(source, at) : first === "nfs" ? nfsFaults(source, at) : [];
  const missing = first === "csi" ? ["driver", "volumeHandle"] : first === "local" ? ["path"] : [];
  const affinity = optionalObjectAt(spec, "nodeAffinity");
  return [
    ...own,
    ...missing.filter((name) => textAt(source, name) === "").map((name) => requiredError(`${at}.${name}`)),
    ...(first === "local" && affinity === undefined
      ? [requiredError(`${path}.nodeAffinity`, "Local volume requires node affinity")]
      : []),
    ...others.map((name) => forbiddenError(`${path}.${name}`, "may not specify more than 1 volume type")),
  ];
}
