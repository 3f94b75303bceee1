// Values that a pod gets where its writer has left them out.
// Source: k8s.io/kubernetes/pkg/apis/core/v1/defaults.go

import { isJsonArray, isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import type { Container, PodSpec, PodTemplate } from "./pod-fields.ts";

const GRACE_SECONDS = 30;
const FILE_MODE = 0o644;
const TOKEN_SECONDS = 3600;

export function withPodDefaults(spec: PodSpec): PodSpec {
  const account = spec.serviceAccountName ?? spec.serviceAccount;
  return {
    ...spec,
    restartPolicy: spec.restartPolicy ?? "Always",
    terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds ?? GRACE_SECONDS,
    dnsPolicy: spec.dnsPolicy ?? "ClusterFirst",
    ...(account === undefined ? {} : { serviceAccountName: account, serviceAccount: account }),
    securityContext: spec.securityContext ?? {},
    schedulerName: spec.schedulerName ?? "default-scheduler",
    ...(spec.volumes === undefined ? {} : { volumes: spec.volumes.map(withVolumeDefaults) }),
    ...(spec.containers === undefined ? {} : { containers: spec.containers.map(withContainerDefaults) }),
    ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(withContainerDefaults) }),
    ...(spec.ephemeralContainers === undefined
      ? {}
      : { ephemeralContainers: spec.ephemeralContainers.map(withContainerDefaults) }),
  };
}

/**
 * In a pod, not in templates: a container asks for what it is limited to where it does not say otherwise, and a negative grace period is one second.
 * Source: pkg/apis/core/v1/{defaults,conversion}.go
 */
export function withPodValues(spec: PodSpec): PodSpec {
  const complete = (container: Container): Container => {
    const { limits, requests } = (container.resources ?? {}) as Readonly<
      Partial<Record<"limits" | "requests", object>>
    >;
    if (limits === undefined || Object.keys(limits).every((name) => requests !== undefined && name in requests))
      return container;
    return { ...container, resources: { ...container.resources, requests: { ...limits, ...requests } } };
  };
  return {
    ...spec,
    ...((spec.terminationGracePeriodSeconds ?? 0) < 0 ? { terminationGracePeriodSeconds: 1 } : {}),
    ...(spec.containers === undefined ? {} : { containers: spec.containers.map(complete) }),
    ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(complete) }),
  };
}

export const withTemplateDefaults = (template: PodTemplate): PodTemplate =>
  template.spec === undefined ? template : { ...template, spec: withPodDefaults(template.spec) };

function withContainerDefaults(container: Container): Container {
  const { ports, env } = container;
  return {
    ...container,
    ...(ports === undefined ? {} : { ports: ports.map((port) => ({ ...port, protocol: port.protocol ?? "TCP" })) }),
    ...(env === undefined ? {} : { env: env.map(withEnvDefaults) }),
    resources: container.resources ?? {},
    ...withProbe(container, "livenessProbe"),
    ...withProbe(container, "readinessProbe"),
    ...withProbe(container, "startupProbe"),
    ...withLifecycle(container),
    terminationMessagePath: container.terminationMessagePath ?? "/dev/termination-log",
    terminationMessagePolicy: container.terminationMessagePolicy ?? "File",
    imagePullPolicy: container.imagePullPolicy ?? pullPolicyOf(container.image ?? ""),
  };
}

type Env = NonNullable<Container["env"]>[number];

function withEnvDefaults(env: Env): Env {
  const { valueFrom } = env;
  return valueFrom === undefined ? env : { ...env, valueFrom: withFieldDefaults(valueFrom) };
}

/** References to fields of the pod: the version of the pod, and the unit of an amount. */
function withFieldDefaults<T extends { readonly fieldRef?: object; readonly resourceFieldRef?: object }>(from: T): T {
  const { fieldRef, resourceFieldRef } = from;
  return {
    ...from,
    ...(fieldRef === undefined ? {} : { fieldRef: { apiVersion: "v1", ...fieldRef } }),
    ...(resourceFieldRef === undefined ? {} : { resourceFieldRef: { divisor: "0", ...resourceFieldRef } }),
  };
}

/** An image whose tag may move is pulled each time. */
function pullPolicyOf(image: string): string {
  // A text that is no name of an image has no tag.
  if (image.includes("@") || /\s/.test(image)) return "IfNotPresent";
  const tag = image.slice(image.lastIndexOf("/") + 1).split(":")[1] ?? "latest";
  return tag === "latest" ? "Always" : "IfNotPresent";
}

type Probes = "livenessProbe" | "readinessProbe" | "startupProbe";

function withProbe(container: Container, name: Probes): Partial<Pick<Container, Probes>> {
  const probe = container[name];
  if (probe === undefined) return {};
  return {
    [name]: {
      ...withHandlerDefaults(probe),
      timeoutSeconds: probe.timeoutSeconds ?? 1,
      periodSeconds: probe.periodSeconds ?? 10,
      successThreshold: probe.successThreshold ?? 1,
      failureThreshold: probe.failureThreshold ?? 3,
    },
  };
}

/** The handlers of probes and of hooks. */
function withHandlerDefaults<T extends { readonly httpGet?: JsonObject; readonly grpc?: JsonObject }>(handler: T): T {
  const { httpGet, grpc } = handler;
  return {
    ...handler,
    ...(httpGet === undefined ? {} : { httpGet: { path: "/", scheme: "HTTP", ...httpGet } }),
    ...(grpc === undefined ? {} : { grpc: { service: "", ...grpc } }),
  };
}

function withLifecycle({ lifecycle }: Container): Partial<Pick<Container, "lifecycle">> {
  return lifecycle === undefined
    ? {}
    : { lifecycle: mapMembers(lifecycle, ["postStart", "preStop"], withHandlerDefaults) };
}

/** Sources that are files have a mode; a volume without a source is an empty directory. */
function withVolumeDefaults(volume: NonNullable<PodSpec["volumes"]>[number]): NonNullable<PodSpec["volumes"]>[number] {
  // Its type names no source.
  const { name, ...sources } = volume as unknown as JsonObject & { readonly name: string };
  if (Object.keys(sources).length === 0) return { name, emptyDir: {} } as typeof volume;
  return { name, ...withSourceDefaults(sources) } as unknown as typeof volume;
}

/** Members of sources that are written where a volume leaves them out. */
const SOURCE_DEFAULTS: { readonly [source: string]: JsonObject } = {
  configMap: { defaultMode: FILE_MODE },
  secret: { defaultMode: FILE_MODE },
  downwardAPI: { defaultMode: FILE_MODE },
  projected: { defaultMode: FILE_MODE },
  hostPath: { type: "" },
  iscsi: { iscsiInterface: "default" },
  rbd: { pool: "rbd", user: "admin", keyring: "/etc/ceph/keyring" },
  azureDisk: { cachingMode: "ReadWrite", kind: "Shared", fsType: "ext4", readOnly: false },
  scaleIO: { storageMode: "ThinProvisioned", fsType: "xfs" },
};

/** The sources of volumes of pods and of PersistentVolumes. */
export function withSourceDefaults(sources: JsonObject): JsonObject {
  const completed = mapMembers(sources, Object.keys(SOURCE_DEFAULTS), (settings, source) => ({
    ...SOURCE_DEFAULTS[source],
    ...settings,
  }));
  return mapMembers(
    mapMembers(mapMembers(completed, ["downwardAPI"], withFieldItems), ["projected"], (projected) => ({
      ...projected,
      ...mapItems(projected, "sources", (source) =>
        mapMembers(mapMembers(source, ["downwardAPI"], withFieldItems), ["serviceAccountToken"], (token) => ({
          expirationSeconds: TOKEN_SECONDS,
          ...token,
        })),
      ),
    })),
    ["ephemeral"],
    (ephemeral) =>
      mapMembers(ephemeral, ["volumeClaimTemplate"], (template) =>
        mapMembers(template, ["spec"], (spec) => ({ volumeMode: "Filesystem", ...spec })),
      ),
  );
}

const withFieldItems = (volume: JsonObject): JsonObject => ({
  ...volume,
  ...mapItems(volume, "items", withFieldDefaults),
});

/** An object with the members of these names changed, where they are objects. */
function mapMembers(
  object: JsonObject,
  names: readonly string[],
  change: (member: JsonObject, name: string) => JsonObject,
): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([name, member]) => [
      name,
      names.includes(name) && isJsonObject(member) ? change(member, name) : member,
    ]),
  );
}

function mapItems(object: JsonObject, name: string, change: (item: JsonObject) => JsonObject): JsonObject {
  const list = object[name];
  return isJsonArray(list) ? { [name]: list.map((item) => (isJsonObject(item) ? change(item) : item)) } : {};
}
