// Values that a pod gets where its writer has left them out.
// Source: k8s.io/kubernetes/pkg/apis/core/v1/defaults.go

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import type { Container, PodSpec, PodTemplate } from "./pod-fields.ts";

const GRACE_SECONDS = 30;
const FILE_MODE = 0o644;

/** Like upstream, a negative period is one second. */
const graceOf = (seconds: number | bigint = GRACE_SECONDS): number | bigint => (seconds < 0 ? 1 : seconds);

export function withPodDefaults(spec: PodSpec): PodSpec {
  const account = spec.serviceAccountName ?? spec.serviceAccount;
  return {
    ...spec,
    restartPolicy: spec.restartPolicy ?? "Always",
    terminationGracePeriodSeconds: graceOf(spec.terminationGracePeriodSeconds),
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

/** In a pod, not in templates: a container asks for what it is limited to where it does not say otherwise. */
export function withRequests(spec: PodSpec): PodSpec {
  const complete = (container: Container): Container => {
    const { limits, requests } = (container.resources ?? {}) as Readonly<
      Partial<Record<"limits" | "requests", object>>
    >;
    if (limits === undefined || Object.keys(limits).every((name) => requests !== undefined && name in requests))
      return container;
    return { ...container, resources: { ...container.resources, requests: { ...limits, ...requests } } as never };
  };
  return {
    ...spec,
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
    terminationMessagePath: container.terminationMessagePath ?? "/dev/termination-log",
    terminationMessagePolicy: container.terminationMessagePolicy ?? "File",
    imagePullPolicy: container.imagePullPolicy ?? pullPolicyOf(container.image ?? ""),
  };
}

type Env = NonNullable<Container["env"]>[number];

function withEnvDefaults(env: Env): Env {
  const fieldRef = env.valueFrom?.fieldRef;
  if (fieldRef === undefined || fieldRef.apiVersion !== undefined) return env;
  return { ...env, valueFrom: { ...env.valueFrom, fieldRef: { ...fieldRef, apiVersion: "v1" } } };
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
  const { httpGet } = probe;
  return {
    [name]: {
      ...probe,
      ...(httpGet === undefined ? {} : { httpGet: { path: "/", scheme: "HTTP", ...httpGet } }),
      timeoutSeconds: probe.timeoutSeconds ?? 1,
      periodSeconds: probe.periodSeconds ?? 10,
      successThreshold: probe.successThreshold ?? 1,
      failureThreshold: probe.failureThreshold ?? 3,
    },
  };
}

/** Sources that are files have a mode; a volume without a source is an empty directory. */
function withVolumeDefaults(volume: NonNullable<PodSpec["volumes"]>[number]): NonNullable<PodSpec["volumes"]>[number] {
  // Its schema keeps every source as it is.
  const { name, ...sources } = volume as unknown as JsonObject & { readonly name: string };
  if (Object.keys(sources).length === 0) return { name, emptyDir: {} } as typeof volume;
  const completed: Record<string, JsonObject[string]> = { name };
  for (const [source, settings] of Object.entries(sources)) {
    const isFiles = ["configMap", "secret", "downwardAPI", "projected"].includes(source);
    completed[source] = isFiles && isJsonObject(settings) ? { defaultMode: FILE_MODE, ...settings } : settings;
  }
  return completed as unknown as typeof volume;
}
