// Requirements of the volumes of a pod: one source each, with the members that it cannot do without.
// Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go (ValidateVolumes)

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import {
  duplicateError,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { choiceFaults, labelFaults } from "../../field-checks.ts";
import { listAt, numberAt, objectAt, optionalObjectAt, textAt } from "../json-members.ts";

/** In the order of upstream, which refuses all but the first that is there. */
const SOURCES = [
  "emptyDir",
  "hostPath",
  "gitRepo",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "secret",
  "nfs",
  "iscsi",
  "glusterfs",
  "flocker",
  "persistentVolumeClaim",
  "rbd",
  "cinder",
  "cephfs",
  "quobyte",
  "downwardAPI",
  "fc",
  "flexVolume",
  "configMap",
  "azureFile",
  "vsphereVolume",
  "photonPersistentDisk",
  "portworxVolume",
  "azureDisk",
  "storageos",
  "projected",
  "scaleIO",
  "csi",
  "ephemeral",
  "image",
];

export function validateVolumes(volumes: readonly JsonValue[], path: string): readonly FieldError[] {
  const names = volumes.map((volume) => textAt(volume, "name"));
  return volumes.flatMap((volume, index) => {
    const at = indexPath(path, index);
    const name = names[index] ?? "";
    const isTwice = names.indexOf(name) < index;
    return [
      ...sourceFaults(volume, at),
      ...(name === "" ? [requiredError(`${at}.name`)] : labelFaults(`${at}.name`, name)),
      ...(name !== "" && isTwice ? [duplicateError(`${at}.name`, name)] : []),
    ];
  });
}

function sourceFaults(volume: JsonValue, path: string): readonly FieldError[] {
  const [first, ...others] = SOURCES.filter((name) => optionalObjectAt(volume, name) !== undefined);
  if (first === undefined) return [requiredError(path, "must specify a volume type")];
  return [
    ...(CHECKS[first]?.(objectAt(volume, first), `${path}.${first}`) ?? []),
    ...others.map((name) => forbiddenError(`${path}.${name}`, "may not specify more than 1 volume type")),
  ];
}

type Check = (source: JsonObject, path: string) => readonly FieldError[];

const required = (source: JsonObject, path: string, ...names: readonly string[]): readonly FieldError[] =>
  names.filter((name) => textAt(source, name) === "").map((name) => requiredError(`${path}.${name}`));

const MAX_MODE = 0o777;

const modeFaults = (path: string, mode: number | undefined): readonly FieldError[] =>
  mode !== undefined && (mode < 0 || mode > MAX_MODE)
    ? [invalidError(path, mode, "must be a number between 0 and 0777 (octal), both inclusive")]
    : [];

/** Paths in a volume stay in it. */
function localPathFaults(path: string, text: string): readonly FieldError[] {
  if (text.startsWith("/")) return [invalidError(path, text, "must be a relative path")];
  return backstepFaults(path, text);
}

export const backstepFaults = (path: string, text: string): readonly FieldError[] =>
  text.split("/").includes("..") ? [invalidError(path, text, "must not contain '..'")] : [];

const itemFaults = (source: JsonObject, path: string): readonly FieldError[] =>
  listAt(source, "items").flatMap((item, index) => {
    const at = indexPath(`${path}.items`, index);
    const target = textAt(item, "path");
    return [
      ...(textAt(item, "key") === "" ? [requiredError(`${at}.key`)] : []),
      ...(target === "" ? [requiredError(`${at}.path`)] : localPathFaults(`${at}.path`, target)),
      ...modeFaults(`${at}.mode`, numberAt(item, "mode")),
    ];
  });

const filesFaults =
  (name: string): Check =>
  (source, path) => [
    ...required(source, path, name),
    ...modeFaults(`${path}.defaultMode`, numberAt(source, "defaultMode")),
    ...itemFaults(source, path),
  ];

const HOST_PATH_TYPES = [
  "",
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket",
];

export const hostPathFaults: Check = (source, path) => {
  const text = textAt(source, "path");
  return [
    ...(text === "" ? [requiredError(`${path}.path`)] : backstepFaults(`${path}.path`, text)),
    ...choiceFaults(`${path}.type`, textAt(source, "type"), HOST_PATH_TYPES),
  ];
};

export const nfsFaults: Check = (source, path) => [
  ...required(source, path, "server", "path"),
  ...(textAt(source, "path").startsWith("/")
    ? []
    : [invalidError(`${path}.path`, textAt(source, "path"), "must be an absolute path")]),
];

const CHECKS: { readonly [source: string]: Check } = {
  emptyDir: (source, path) =>
    textAt(source, "sizeLimit").startsWith("-")
      ? [forbiddenError(`${path}.sizeLimit`, "SizeLimit field must be a valid resource quantity")]
      : [],
  hostPath: hostPathFaults,
  nfs: nfsFaults,
  secret: filesFaults("secretName"),
  configMap: filesFaults("name"),
  persistentVolumeClaim: (source, path) => required(source, path, "claimName"),
  csi: (source, path) => required(source, path, "driver"),
  ephemeral: (source, path) =>
    optionalObjectAt(source, "volumeClaimTemplate") === undefined ? [requiredError(`${path}.volumeClaimTemplate`)] : [],
};
