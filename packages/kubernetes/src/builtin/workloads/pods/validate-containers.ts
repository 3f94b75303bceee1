// Requirements of the containers of a pod.
// Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go (validateContainers, validateContainerCommon)

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { parseAmount } from "@postern/apimachinery/quantity/quantity";
import {
  duplicateError,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  notFoundFieldError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { choiceFaults, isPortName, labelFaults, portFaults, requiredChoice, textFaults } from "../../field-checks.ts";
import { amountsFaults, quantityText } from "../../quotas/quantities.ts";
import { containerResourceFaults, isExtended, mayBeOvercommitted } from "../../quotas/resource-names.ts";
import { listAt, numberAt, objectAt, optionalObjectAt, optionalTextAt, textAt } from "../json-members.ts";
import { validateEnv } from "./validate-env.ts";
import { backstepFaults } from "./validate-pod-volumes.ts";
import { validateProbes } from "./validate-probes.ts";

/** `volumes`: their names. `isHostNetwork`: the pod has the network of its node. */
export type PodParts = { readonly volumes: ReadonlySet<string>; readonly isHostNetwork: boolean };

/** Checks what all kinds of containers have. `names`: of all containers of the pod so far, to which those here are added. */
export function validateContainers(
  containers: readonly JsonValue[],
  path: string,
  names: Set<string>,
  pod: PodParts,
): readonly FieldError[] {
  return containers.flatMap((container, index) => {
    const at = indexPath(path, index);
    const name = textAt(container, "name");
    const isTwice = names.has(name);
    names.add(name);
    return [
      ...containerFaults(container, at, pod),
      ...(isTwice && name !== "" ? [duplicateError(`${at}.name`, name)] : []),
    ];
  });
}

const PULL_POLICIES = ["Always", "IfNotPresent", "Never"];

function containerFaults(container: JsonValue, path: string, pod: PodParts): readonly FieldError[] {
  const name = textAt(container, "name");
  const image = textAt(container, "image");
  return [
    ...(name === "" ? [requiredError(`${path}.name`)] : labelFaults(`${path}.name`, name)),
    ...(image === "" ? [requiredError(`${path}.image`)] : []),
    ...choiceFaults(`${path}.terminationMessagePolicy`, optionalTextAt(container, "terminationMessagePolicy"), [
      "File",
      "FallbackToLogsOnError",
    ]),
    ...portsFaults(listAt(container, "ports"), `${path}.ports`, pod),
    ...validateEnv(container, path),
    ...mountFaults(container, path, pod.volumes),
    ...choiceFaults(`${path}.imagePullPolicy`, optionalTextAt(container, "imagePullPolicy"), PULL_POLICIES),
    ...resourceFaults(objectAt(container, "resources"), `${path}.resources`),
    ...validateProbes(container, path),
    ...restartFaults(container, path),
    ...securityFaults(container, path),
  ];
}

const restartFaults = (container: JsonValue, path: string): readonly FieldError[] =>
  choiceFaults(`${path}.restartPolicy`, optionalTextAt(container, "restartPolicy"), ["Always", "Never", "OnFailure"]);

const MAX_ID = 2_147_483_647;

/** Ids of users and groups. */
export const idFaults = (path: string, id: number | undefined): readonly FieldError[] =>
  id !== undefined && (id < 0 || id > MAX_ID)
    ? [invalidError(path, id, `must be between 0 and ${MAX_ID}, inclusive`)]
    : [];

function securityFaults(container: JsonValue, path: string): readonly FieldError[] {
  const context = optionalObjectAt(container, "securityContext");
  if (context === undefined) return [];
  const at = `${path}.securityContext`;
  return [
    ...idFaults(`${at}.runAsUser`, numberAt(context, "runAsUser")),
    ...idFaults(`${at}.runAsGroup`, numberAt(context, "runAsGroup")),
    ...choiceFaults(`${at}.procMount`, optionalTextAt(context, "procMount"), ["Default", "Unmasked"]),
  ];
}

const PROTOCOLS = ["SCTP", "TCP", "UDP"];

function portsFaults(ports: readonly JsonValue[], path: string, { isHostNetwork }: PodParts): readonly FieldError[] {
  const names = ports.map((port) => textAt(port, "name"));
  const onHost = new Set<string>();
  return ports.flatMap((port, index) => {
    const at = indexPath(path, index);
    const name = names[index] ?? "";
    const [inside = 0, outside = 0] = [numberAt(port, "containerPort"), numberAt(port, "hostPort")];
    const protocol = textAt(port, "protocol");
    const key = `${protocol}/${textAt(port, "hostIP")}/${outside}`;
    const isTaken = outside !== 0 && onHost.has(key);
    if (outside !== 0) onHost.add(key);
    return [
      ...(name === "" ? [] : textFaults(`${at}.name`, name, isPortName)),
      ...(name !== "" && names.indexOf(name) < index ? [duplicateError(`${at}.name`, name)] : []),
      ...(inside === 0 ? [requiredError(`${at}.containerPort`)] : portFaults(`${at}.containerPort`, inside)),
      ...(outside === 0 ? [] : portFaults(`${at}.hostPort`, outside)),
      ...requiredChoice(`${at}.protocol`, protocol, PROTOCOLS),
      ...(isTaken ? [duplicateError(`${at}.hostPort`, key)] : []),
      ...(isHostNetwork && outside !== 0 && outside !== inside
        ? [invalidError(`${at}.hostPort`, outside, "must match `containerPort` when `hostNetwork` is true")]
        : []),
    ];
  });
}

const PROPAGATIONS = ["Bidirectional", "HostToContainer", "None"];

function mountFaults(container: JsonValue, path: string, volumes: ReadonlySet<string>): readonly FieldError[] {
  const mounts = listAt(container, "volumeMounts");
  const paths = mounts.map((mount) => textAt(mount, "mountPath"));
  const missing = (at: string, name: string): readonly FieldError[] => {
    if (name === "") return [requiredError(`${at}.name`)];
    return volumes.has(name) ? [] : [notFoundFieldError(`${at}.name`, name)];
  };
  return [
    ...mounts.flatMap((mount, index) => {
      const at = indexPath(`${path}.volumeMounts`, index);
      const target = paths[index] ?? "";
      return [
        ...missing(at, textAt(mount, "name")),
        ...(target === "" ? [requiredError(`${at}.mountPath`)] : []),
        ...(paths.indexOf(target) < index ? [invalidError(`${at}.mountPath`, target, "must be unique")] : []),
        ...backstepFaults(`${path}.volumeMounts.subPath`, textAt(mount, "subPath")),
        ...choiceFaults(
          `${path}.volumeMounts.mountPropagation`,
          optionalTextAt(mount, "mountPropagation"),
          PROPAGATIONS,
        ),
      ];
    }),
    ...listAt(container, "volumeDevices").flatMap((device, index) =>
      missing(indexPath(`${path}.volumeDevices`, index), textAt(device, "name")),
    ),
  ];
}

const amountFaults = (amounts: JsonObject, path: string): readonly FieldError[] =>
  amountsFaults(amounts, path, containerResourceFaults, isExtended);

/** Faults of the resources that a pod takes beside its containers: upstream checks them as the limits of one. */
export const overheadFaults = (overhead: JsonObject, path: string): readonly FieldError[] =>
  amountFaults(overhead, `${path}.limits`);

function resourceFaults(resources: JsonValue, path: string): readonly FieldError[] {
  const [limits, requests] = [objectAt(resources, "limits"), objectAt(resources, "requests")];
  return [
    ...amountFaults(limits, `${path}.limits`),
    ...amountFaults(requests, `${path}.requests`),
    ...Object.entries(requests).flatMap(([name, value]) => {
      const limit = limits[name];
      const at = `${path}.requests`;
      if (limit === undefined) {
        return mayBeOvercommitted(name)
          ? []
          : [requiredError(`${path}.limits`, "Limit must be set for non overcommitable resources")];
      }
      const [asked, most] = [quantityText(value), quantityText(limit)];
      const [low, high] = [parseAmount(asked) ?? 0n, parseAmount(most) ?? 0n];
      if (!mayBeOvercommitted(name) && low !== high) {
        return [invalidError(at, asked, `must be equal to ${name} limit of ${most}`)];
      }
      return low > high ? [invalidError(at, asked, `must be less than or equal to ${name} limit of ${most}`)] : [];
    }),
  ];
}

/** Containers that run before the others, and end. */
export const validateInitProbes = (containers: readonly JsonValue[], path: string): readonly FieldError[] =>
  containers.flatMap((container, index) =>
    textAt(container, "restartPolicy") === "Always"
      ? []
      : ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"]
          .filter((name) => optionalObjectAt(container, name) !== undefined)
          .map((name) =>
            forbiddenError(
              `${indexPath(path, index)}.${name}`,
              "may not be set for init containers without restartPolicy=Always",
            ),
          ),
  );
