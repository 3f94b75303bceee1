// Warnings about pods and their templates that are valid, and yet not what their author means. Those about one list are bounded: a pod may have very many
// of everything.
// Source: k8s.io/kubernetes/pkg/api/pod/warnings.go, pkg/api/node/util.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { parseAmount } from "@postern/apimachinery/quantity/quantity";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { childPath, indexPath, keyPath } from "@postern/apimachinery/validation/field-error";
import { isDNS1123Label } from "@postern/apimachinery/validation/string-validators";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { addressWarnings } from "../../address-warnings.ts";
import { quantityText } from "../../quotas/quantities.ts";
import { listAt, objectAt, optionalObjectAt, textAt } from "../json-members.ts";
import { pathWarnings } from "./overlapping-paths.ts";
import type { PodSpec, PodTemplate } from "./pod-fields.ts";
import { profileWarnings } from "./profile-warnings.ts";

type Warnings = readonly string[];

const NODE_LABELS: ReadonlyMap<string, string> = new Map([
  ["beta.kubernetes.io/arch", 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ["beta.kubernetes.io/os", 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  ["failure-domain.beta.kubernetes.io/region", 'deprecated since v1.17; use "topology.kubernetes.io/region" instead'],
  ["failure-domain.beta.kubernetes.io/zone", 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'],
  ["beta.kubernetes.io/instance-type", 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'],
  ["app.kubernetes.io/created-by", "deprecated since v1.9"],
  ["scheduler.alpha.kubernetes.io/preferAvoidPods", "deprecated since v1.22; use Taints and Tolerations instead"],
  ["node-role.kubernetes.io/master", 'use "node-role.kubernetes.io/control-plane" instead'],
]);

const ANNOTATIONS: readonly (readonly [string, string])[] = [
  ["scheduler.alpha.kubernetes.io/critical-pod", 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  ["security.alpha.kubernetes.io/sysctls", 'non-functional in v1.11+; use the "sysctls" field instead'],
  ["security.alpha.kubernetes.io/unsafe-sysctls", 'non-functional in v1.11+; use the "sysctls" field instead'],
];

const VOLUMES: readonly (readonly [string, string])[] = [
  ["photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"],
  ["gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"],
  ["scaleIO", "deprecated in v1.16, non-functional in v1.22+"],
  ["flocker", "deprecated in v1.22, non-functional in v1.25+"],
  ["storageos", "deprecated in v1.22, non-functional in v1.25+"],
  ["quobyte", "deprecated in v1.22, non-functional in v1.25+"],
  ["glusterfs", "deprecated in v1.25, non-functional in v1.26+"],
  ["cephfs", "deprecated in v1.28, non-functional in v1.31+"],
  ["rbd", "deprecated in v1.28, non-functional in v1.31+"],
];

/** Where the path has another name than JSON. */
const GO_NAMES: { readonly [name: string]: string } = { storageos: "storageOS" };

/** Warnings of one kind for one object. */
const MOST = 100;

type Container = { readonly path: string; readonly container: JsonObject };

/** `path` is that of the template; empty for a pod itself. */
export function podWarnings(
  template: { readonly metadata?: object; readonly spec?: PodSpec } | undefined,
  path: string,
): Warnings {
  const spec = template?.spec ?? {};
  const annotations = objectAt((template?.metadata ?? {}) as JsonObject, "annotations");
  const at = (name: string): string => childPath(childPath(path, "spec"), name);
  const containers: readonly Container[] = ["initContainers", "containers", "ephemeralContainers"].flatMap((name) =>
    listAt(spec, name).map((container, index) => ({
      path: indexPath(at(name), index),
      container: asObject(container),
    })),
  );
  const grace = spec["terminationGracePeriodSeconds"];
  const affinity = objectAt(spec, "affinity");
  return [
    ...Object.keys(objectAt(spec, "nodeSelector")).flatMap((key) =>
      nodeLabelWarning(keyPath(at("nodeSelector"), key), key),
    ),
    ...nodeAffinityWarnings(objectAt(affinity, "nodeAffinity"), at("affinity.nodeAffinity")),
    ...listAt(spec, "topologySpreadConstraints").flatMap((constraint, index) =>
      spreadWarnings(constraint, indexPath(at("topologySpreadConstraints"), index)),
    ),
    ...ANNOTATIONS.filter(([name]) => annotations[name] !== undefined).map(
      ([name, why]) => `${keyPath(childPath(path, "metadata.annotations"), name)}: ${why}`,
    ),
    ...listAt(spec, "volumes").flatMap((volume, index) =>
      VOLUMES.filter(([name]) => optionalObjectAt(volume, name) !== undefined).map(
        ([name, why]) => `${indexPath(at("volumes"), index)}.${GO_NAMES[name] ?? name}: ${why}`,
      ),
    ),
    ...pathWarnings(listAt(spec, "volumes")),
    ...repeated(listAt(spec, "hostAliases"), at("hostAliases"), "ip"),
    ...repeated(listAt(spec, "imagePullSecrets"), at("imagePullSecrets"), "name"),
    ...listAt(spec, "imagePullSecrets").flatMap((secret, index) =>
      textAt(secret, "name") === "" ? [`${indexPath(at("imagePullSecrets"), index)}.name: invalid empty name ""`] : [],
    ),
    ...fractions(objectAt(spec, "overhead"), at("overhead")),
    ...profileWarnings(
      annotations,
      spec,
      containers.map(({ container }) => container),
      path,
    ),
    ...containers.flatMap(containerWarnings),
    ...portWarnings(containers),
    ...portNameWarnings(containers),
    ...(Number(grace ?? 0) < 0
      ? [`${at("terminationGracePeriodSeconds")}: must be >= 0; negative values are invalid and will be treated as 1`]
      : []),
    ...["podAffinity", "podAntiAffinity"].flatMap((name) =>
      podAffinityWarnings(objectAt(affinity, name), at(`affinity.${name}`)),
    ),
    ...listAt(objectAt(spec, "dnsConfig"), "nameservers")
      .slice(0, MOST)
      .flatMap((server, index) =>
        typeof server === "string" ? addressWarnings(indexPath(at("dnsConfig.nameservers"), index), server) : [],
      ),
    ...listAt(spec, "hostAliases")
      .slice(0, MOST)
      .flatMap((alias, index) => addressWarnings(`${indexPath(at("hostAliases"), index)}.ip`, textAt(alias, "ip"))),
  ].slice(0, 10 * MOST);
}

const asObject = (value: JsonValue): JsonObject => objectAt({ value }, "value");

export function nodeLabelWarning(path: string, key: string, isNamed = false): Warnings {
  const why = NODE_LABELS.get(key);
  return why === undefined ? [] : [`${path}: ${isNamed ? `${key} is ` : ""}${why}`];
}

function ofTerm(term: JsonValue, path: string): Warnings {
  return listAt(term, "matchExpressions").flatMap((expression, index) =>
    nodeLabelWarning(`${indexPath(`${path}.matchExpressions`, index)}.key`, textAt(expression, "key"), true),
  );
}

/** The warnings about a selector of nodes at this path. */
export const nodeTermWarnings = (selector: JsonObject, path: string): Warnings =>
  listAt(selector, "nodeSelectorTerms").flatMap((term, index) =>
    ofTerm(term, indexPath(`${path}.nodeSelectorTerms`, index)),
  );

/** The warnings about a label selector of nodes at this path. */
export const nodeSelectorWarnings = (selector: JsonObject, path: string): Warnings => [
  ...ofTerm(selector, path),
  ...Object.keys(objectAt(selector, "matchLabels")).flatMap((key) =>
    nodeLabelWarning(`${path}.matchLabels.${key}`, key),
  ),
];

function nodeAffinityWarnings(affinity: JsonObject, path: string): Warnings {
  const [required, preferred] = [
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
  ] as const;
  return [
    ...nodeTermWarnings(objectAt(affinity, required), `${path}.${required}`),
    ...listAt(affinity, preferred).flatMap((term, index) =>
      ofTerm(objectAt(term, "preference"), `${indexPath(`${path}.${preferred}`, index)}.preference`),
    ),
  ];
}

const NO_SELECTOR = "a null labelSelector results in matching no pod";

function spreadWarnings(constraint: JsonValue, path: string): Warnings {
  const hasSelector = optionalObjectAt(constraint, "labelSelector") !== undefined;
  return [
    ...nodeLabelWarning(`${path}.topologyKey`, textAt(constraint, "topologyKey"), true),
    ...(hasSelector ? [] : [`${path}.labelSelector: ${NO_SELECTOR}`]),
  ];
}

function podAffinityWarnings(affinity: JsonObject, path: string): Warnings {
  const ofTerms = (name: string, member: string): Warnings =>
    listAt(affinity, name).flatMap((term, index) => {
      const at = childPath(indexPath(`${path}.${name}`, index), member);
      const inner = member === "" ? term : objectAt(term, member);
      const place = member === "" ? indexPath(`${path}.${name}`, index) : at;
      return optionalObjectAt(inner, "labelSelector") === undefined ? [`${place}.labelSelector: ${NO_SELECTOR}`] : [];
    });
  return [
    ...ofTerms("requiredDuringSchedulingIgnoredDuringExecution", ""),
    ...ofTerms("preferredDuringSchedulingIgnoredDuringExecution", "podAffinityTerm"),
  ];
}

function repeated(items: readonly JsonValue[], path: string, member: string): Warnings {
  const seen = new Set<string>();
  return items.flatMap((item, index) => {
    const value = textAt(item, member);
    if (seen.has(value)) return [`${indexPath(path, index)}.${member}: duplicate ${member} ${quoteGo(value)}`];
    seen.add(value);
    return [];
  });
}

const NANOS = 1_000_000_000n;

/** Warns about a fraction of a byte. */
export const fractionWarning = (path: string, value: JsonValue | undefined): Warnings =>
  value === undefined || (parseAmount(quantityText(value)) ?? 0n) % NANOS === 0n
    ? []
    : [`${path}: fractional byte value ${quoteGo(quantityText(value))} is invalid, must be an integer`];

const fractions = (amounts: JsonObject, path: string): Warnings =>
  ["memory", "ephemeral-storage"].flatMap((name) => fractionWarning(keyPath(path, name), amounts[name]));

function containerWarnings({ path, container }: Container): Warnings {
  const resources = objectAt(container, "resources");
  const of = (kind: "limits" | "requests", name: string): Warnings =>
    fractionWarning(keyPath(`${path}.resources.${kind}`, name), objectAt(resources, kind)[name]);
  const seen = new Set<string>();
  const env = listAt(container, "env").flatMap((variable, index) => {
    const [name, value] = [textAt(variable, "name"), textAt(variable, "value")];
    const isFirst = !seen.has(name);
    seen.add(name);
    const reference = `$(${name})`;
    const isReplaced = optionalObjectAt(variable, "valueFrom") !== undefined || value === reference;
    if (isFirst || (!isReplaced && value.includes(reference))) return [];
    const why = `hides previous definition of ${quoteGo(name)}, which may be dropped when using apply`;
    return [`${indexPath(`${path}.env`, index)}: ${why}`];
  });
  return [
    ...["memory", "ephemeral-storage"].flatMap((name) => [...of("limits", name), ...of("requests", name)]),
    ...env.slice(0, MOST),
  ];
}

type Port = { readonly path: string; readonly hostIP: string; readonly hostPort: number };

function portWarnings(containers: readonly Container[]): Warnings {
  const known = new Map<string, Port[]>();
  const warnings: string[] = [];
  for (const { path: of, container } of containers) {
    for (const [index, port] of listAt(container, "ports").entries()) {
      if (warnings.length >= MOST) return warnings;
      const path = indexPath(`${of}.ports`, index);
      const { hostPort = 0, containerPort = 0 } = asObject(port) as { hostPort?: number; containerPort?: number };
      const [hostIP, protocol] = [textAt(port, "hostIP"), textAt(port, "protocol")];
      if (hostIP !== "" && hostPort === 0) {
        const text = `{Name:${textAt(port, "name")} HostPort:0 ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIP}}`;
        warnings.push(`${path}: hostIP set without hostPort: ${text}`);
      }
      const key = `${containerPort}/${protocol}`;
      const others = known.get(key) ?? [];
      for (const other of others) {
        const how = howSame({ hostIP, hostPort }, other);
        if (how !== undefined) warnings.push(`${path}: ${how} port definition with ${other.path}`);
      }
      if (others.length < MOST) others.push({ path, hostIP, hostPort });
      known.set(key, others);
    }
  }
  return warnings;
}

function howSame(port: Omit<Port, "path">, other: Port): string | undefined {
  if (port.hostIP === other.hostIP && port.hostPort === other.hostPort) return "duplicate";
  if (port.hostPort === 0 || other.hostPort === 0) return "overlapping";
  const isOneForAll = (port.hostIP === "") !== (other.hostIP === "");
  return port.hostPort === other.hostPort && isOneForAll ? "dangerously ambiguous" : undefined;
}

function portNameWarnings(containers: readonly Container[]): Warnings {
  const known = new Map<string, string>();
  return containers
    .flatMap(({ path: of, container }) =>
      listAt(container, "ports").flatMap((port, index) => {
        const [path, name] = [indexPath(`${of}.ports`, index), textAt(port, "name")];
        const other = known.get(name);
        if (name === "") return [];
        if (other === undefined) {
          known.set(name, path);
          return [];
        }
        const why = `services and probes that select ports by name will use ${other}`;
        return [`${path}: duplicate port name ${quoteGo(name)} with ${other}, ${why}`];
      }),
    )
    .slice(0, MOST);
}

const nameWarnings = ({ metadata: { name = "" } }: KubeObject, where: string): Warnings => {
  const faults = isDNS1123Label(name);
  if (faults.length === 0) return [];
  const why = "which can result in surprising behavior; a DNS label is recommended";
  return [`metadata.name: this is used in ${where}, ${why}: [${faults.join(" ")}]`];
};

/** A pod is written often, and by machines: only a new one has warnings. */
export const newPodWarnings = (pod: KubeObject & PodTemplate): Warnings => [
  ...nameWarnings(pod, "the Pod's hostname"),
  ...podWarnings(pod, ""),
];

type WarningHooks<T extends KubeObject> = Required<Pick<Strategy<T>, "warningsOnCreate" | "warningsOnUpdate">>;

/** The warnings of a kind that makes pods: for a new object, and for a change of its specification. `namesPods`: its name becomes a part of theirs. */
export const templateWarnings = <T extends KubeObject>(
  templateOf: (object: T) => PodTemplate | undefined,
  path: string,
  { namesPods, others = () => [] }: { readonly namesPods: boolean; readonly others?: (object: T) => Warnings },
): WarningHooks<T> => ({
  warningsOnCreate: (object) => [
    ...(namesPods ? nameWarnings(object, "Pod names and hostnames") : []),
    ...podWarnings(templateOf(object), path),
    ...others(object),
  ],
  warningsOnUpdate: (object, old, { info }) =>
    info.subresource === "status" || equalJson(specOf(object), specOf(old))
      ? []
      : [...podWarnings(templateOf(object), path), ...others(object)],
});

const specOf = (object: KubeObject): JsonValue => (object["spec"] ?? null) as JsonValue;
