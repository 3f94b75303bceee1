// The checks of the Pod Security Standards: what of a pod each level does not allow, in the words of kube-apiserver.
// Source: k8s.io/pod-security-admission/policy/check_*.go, as of 1.25, when they became stable, and later

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { listAt, numberAt, objectAt, optionalObjectAt, optionalTextAt, textAt } from "../json-members.ts";

/** A minor version of the standards; `latest` is infinite. */
export type StandardVersion = number;

type Container = { readonly name: string; readonly value: JsonValue; readonly security: JsonObject };
type CheckedPod = {
  readonly spec: JsonObject;
  readonly annotations: JsonObject;
  readonly security: JsonObject;
  readonly containers: readonly Container[];
};
/** The details of a violation; "" where there is none. */
type Check = (pod: CheckedPod, version: StandardVersion) => string;
type Rule = readonly [reason: string, check: Check, since?: StandardVersion];

const plural = (one: string, count: number, many = `${one}s`): string => (count === 1 ? one : many);
const quoted = (texts: readonly string[]): string => texts.map((text) => `"${text}"`).join(", ");
const sorted = (texts: readonly string[]): readonly string[] => [...new Set(texts)].sort();
const several = (what: string, names: readonly string[]): string => `${plural(what, names.length)} ${quoted(names)}`;
const isWindows = ({ spec }: CheckedPod): boolean => textAt(objectAt(spec, "os"), "name") === "windows";

const namesWhere = ({ containers }: CheckedPod, isBad: (security: JsonObject) => boolean): readonly string[] =>
  containers.filter(({ security }) => isBad(security)).map(({ name }) => name);

const settersOf = (pod: CheckedPod, isBad: (security: JsonObject) => boolean): readonly string[] => {
  const containers = namesWhere(pod, isBad);
  return [
    ...(isBad(pod.security) ? ["pod"] : []),
    ...(containers.length > 0 ? [several("container", containers)] : []),
  ];
};

const bySetters =
  (isBad: (security: JsonObject) => boolean, rest: string): Check =>
  (pod) => {
    const setters = settersOf(pod, isBad);
    return setters.length === 0 ? "" : `${setters.join(" and ")} ${rest}`;
  };

const byContainers =
  (isBad: (security: JsonObject) => boolean, rest: string): Check =>
  (pod) => {
    const names = namesWhere(pod, isBad);
    return names.length === 0 ? "" : `${several("container", names)} ${rest}`;
  };

const byValues =
  (
    valuesOf: (container: Container) => readonly string[],
    rest: (values: readonly string[], count: number) => string,
  ): Check =>
  ({ containers }) => {
    const names = containers.filter((container) => valuesOf(container).length > 0).map(({ name }) => name);
    const values = sorted(containers.flatMap(valuesOf));
    return names.length === 0 ? "" : `${several("container", names)} ${rest(values, names.length)}`;
  };

/** Unless the pod has users of its own. */
const exceptInUserNamespaces =
  (check: Check): Check =>
  (pod, version) =>
    version >= 35 && pod.spec["hostUsers"] === false ? "" : check(pod, version);

/** The type of a profile that is neither the default nor one of the node. */
const badType = (security: JsonObject, member: string): readonly string[] =>
  [objectAt(security, member)]
    .filter((profile) => optionalObjectAt(security, member) === profile)
    .map((profile) => textAt(profile, "type"))
    .filter((type) => type !== "RuntimeDefault" && type !== "Localhost");
const badTypes = ({ security, containers }: CheckedPod, member: string): readonly string[] =>
  sorted([security, ...containers.map((each) => each.security)].flatMap((each) => badType(each, member)));

export const APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/";

/** The reason says whether there is one such profile. */
const appArmorProfile =
  (isOne: boolean): Check =>
  (pod) => {
    const annotations = Object.entries(pod.annotations)
      .filter(
        ([name, value]) => name.startsWith(APP_ARMOR) && !/^($|runtime\/default$|localhost\/)/.test(String(value)),
      )
      .map(([name, value]) => `${name}=${quoteGo(String(value))}`);
    const setters = [
      ...settersOf(pod, (security) => badType(security, "appArmorProfile").length > 0),
      ...(annotations.length === 0 ? [] : [plural("annotation", annotations.length)]),
    ];
    const values = [...badTypes(pod, "appArmorProfile"), ...annotations.sort()];
    if (values.length === 0 || (values.length === 1) !== isOne) return "";
    return `${setters.join(" and ")} must not set AppArmor profile type to ${quoted(values)}`;
  };

const DEFAULT_CAPABILITIES =
  "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT".split(
    " ",
  );
const capabilities = (security: JsonObject, member: "add" | "drop"): readonly string[] =>
  listAt(objectAt(security, "capabilities"), member).filter((each) => typeof each === "string");
const addingOnly = (allowed: readonly string[]): Check =>
  byValues(
    ({ security }) => capabilities(security, "add").filter((each) => !allowed.includes(each)),
    (values) => `must not include ${quoted(values)} in securityContext.capabilities.add`,
  );

const droppingAll: Check = (pod, version) => {
  if (isWindows(pod)) return "";
  const kept = byContainers(
    (security) => !capabilities(security, "drop").includes("ALL"),
    'must set securityContext.capabilities.drop=["ALL"]',
  );
  return [kept, addingOnly(["NET_BIND_SERVICE"])]
    .map((check) => check(pod, version))
    .filter((text) => text !== "")
    .join("; ");
};

const hostNamespaces: Check = ({ spec }) =>
  ["hostNetwork", "hostPID", "hostIPC"]
    .filter((name) => spec[name] === true)
    .map((name) => `${name}=true`)
    .join(", ");

const hostPathVolumes: Check = ({ spec }) => {
  const volumes = listAt(spec, "volumes").filter((volume) => optionalObjectAt(volume, "hostPath") !== undefined);
  return volumes.length === 0
    ? ""
    : several(
        "volume",
        volumes.map((volume) => textAt(volume, "name")),
      );
};

const hostPorts = byValues(
  ({ value }) => listAt(value, "ports").flatMap((port) => String(numberAt(port, "hostPort") || "") || []),
  (ports, count) => `${plural("uses", count, "use")} ${plural("hostPort", ports.length)} ${ports.join(", ")}`,
);

const hostsOf = (handler: JsonValue): readonly string[] =>
  ["httpGet", "tcpSocket"].map((kind) => textAt(objectAt(handler, kind), "host")).filter((host) => host !== "");
const hostProbes = byValues(
  ({ value }) => [
    ...["livenessProbe", "readinessProbe", "startupProbe"].flatMap((probe) => hostsOf(objectAt(value, probe))),
    ...["postStart", "preStop"].flatMap((hook) => hostsOf(objectAt(objectAt(value, "lifecycle"), hook))),
  ],
  (hosts, count) => `${plural("uses", count, "use")} ${several("probe or lifecycle host", hosts)}`,
);

const procMount = byValues(
  ({ security }) => [optionalTextAt(security, "procMount") ?? "Default"].filter((mount) => mount !== "Default"),
  (mounts) => `must not set securityContext.procMount to ${quoted(mounts)}`,
);

const seLinuxOptions: Check = (pod, version) => {
  const types = [
    "",
    "container_t",
    "container_init_t",
    "container_kvm_t",
    ...(version >= 31 ? ["container_engine_t"] : []),
  ];
  const option = (security: JsonObject, name: string): string => textAt(objectAt(security, "seLinuxOptions"), name);
  const hasBadType = (security: JsonObject): boolean => !types.includes(option(security, "type"));
  const set = (names: readonly string[]) => (security: JsonObject) =>
    names.some((name) => option(security, name) !== "");
  const contexts = [pod.security, ...pod.containers.map(({ security }) => security)];
  const bad = sorted(contexts.filter(hasBadType).map((security) => option(security, "type")));
  const faults = [
    ...(bad.length === 0 ? [] : [several("type", bad)]),
    ...["user", "role"].filter((name) => contexts.some(set([name]))).map((name) => `${name} may not be set`),
  ];
  const rest = `set forbidden securityContext.seLinuxOptions: ${faults.join("; ")}`;
  return bySetters((security) => hasBadType(security) || set(["user", "role"])(security), rest)(pod, version);
};

const seccompProfile: Check = (pod, version) => {
  const rest = `must not set securityContext.seccompProfile.type to ${quoted(badTypes(pod, "seccompProfile"))}`;
  return bySetters((security) => badType(security, "seccompProfile").length > 0, rest)(pod, version);
};

const requiredSeccompProfile: Check = (pod, version) => {
  const bad = seccompProfile(pod, version);
  const isOpen = (security: JsonObject): boolean => optionalObjectAt(security, "seccompProfile") === undefined;
  const open = namesWhere(pod, isOpen);
  if (isWindows(pod)) return "";
  if (bad !== "" || !isOpen(pod.security) || open.length === 0) return bad;
  return `pod or ${several("container", open)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`;
};

const SYSCTLS: readonly (readonly [since: StandardVersion, names: string])[] = [
  [0, "kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies net.ipv4.ping_group_range"],
  [0, "net.ipv4.ip_unprivileged_port_start"],
  [27, "net.ipv4.ip_local_reserved_ports"],
  [
    29,
    "net.ipv4.tcp_keepalive_time net.ipv4.tcp_fin_timeout net.ipv4.tcp_keepalive_intvl net.ipv4.tcp_keepalive_probes",
  ],
  [32, "net.ipv4.tcp_rmem net.ipv4.tcp_wmem"],
];
const sysctls: Check = ({ security }, version) => {
  const allowed = SYSCTLS.filter(([since]) => version >= since).flatMap(([, names]) => names.split(" "));
  const names = listAt(security, "sysctls").map((each) => textAt(each, "name"));
  return names.filter((name) => !allowed.includes(name)).join(", ");
};

const FREE_VOLUMES = "configMap csi downwardAPI emptyDir ephemeral image persistentVolumeClaim projected secret".split(
  " ",
);
const restrictedVolumes: Check = ({ spec }) => {
  const sourceOf = (volume: JsonValue): string =>
    Object.keys(volume as JsonObject).find((name) => optionalObjectAt(volume, name) !== undefined) ?? "unknown";
  const bad = listAt(spec, "volumes").filter((volume) => !FREE_VOLUMES.includes(sourceOf(volume)));
  if (bad.length === 0) return "";
  const types = several("restricted volume type", sorted(bad.map(sourceOf)));
  const names = bad.map((volume) => textAt(volume, "name"));
  return `${several("volume", names)} ${plural("uses", bad.length, "use")} ${types}`;
};

const runAsNonRoot: Check = (pod, version) => {
  const bad = bySetters(
    (security) => security["runAsNonRoot"] === false,
    "must not set securityContext.runAsNonRoot=false",
  );
  const open = namesWhere(pod, (security) => security["runAsNonRoot"] !== true);
  const text = bad(pod, version);
  if (text !== "" || pod.security["runAsNonRoot"] === true || open.length === 0) return text;
  return `pod or ${several("container", open)} must set securityContext.runAsNonRoot=true`;
};

/** In the order in which violations are named. */
const BASELINE: readonly Rule[] = [
  ["forbidden AppArmor profile", appArmorProfile(true)],
  ["forbidden AppArmor profiles", appArmorProfile(false)],
  ["non-default capabilities", addingOnly(DEFAULT_CAPABILITIES)],
  ["host namespaces", hostNamespaces],
  ["hostPath volumes", hostPathVolumes],
  ["hostPort", hostPorts],
  ["probe or lifecycle host", hostProbes, 34],
  [
    "privileged",
    byContainers((security) => security["privileged"] === true, "must not set securityContext.privileged=true"),
  ],
  ["procMount", exceptInUserNamespaces(procMount)],
  ["seLinuxOptions", seLinuxOptions],
  ["seccompProfile", seccompProfile],
  ["forbidden sysctls", sysctls],
  [
    "hostProcess",
    bySetters(
      (security) => objectAt(security, "windowsOptions")["hostProcess"] === true,
      "must not set securityContext.windowsOptions.hostProcess=true",
    ),
  ],
];
/** Rules of the baseline that stricter ones stand in for; with the version since which they do. */
const REPLACED = new Map([
  ["non-default capabilities", 0],
  ["hostPath volumes", 0],
  ["procMount", 35],
  ["seccompProfile", 0],
]);
const RESTRICTED: readonly Rule[] = [
  [
    "allowPrivilegeEscalation != false",
    (pod, version) =>
      isWindows(pod)
        ? ""
        : byContainers(
            (security) => security["allowPrivilegeEscalation"] !== false,
            "must set securityContext.allowPrivilegeEscalation=false",
          )(pod, version),
  ],
  ["unrestricted capabilities", droppingAll],
  ["procMount", procMount, 35],
  ["restricted volume types", restrictedVolumes],
  ["runAsNonRoot != true", exceptInUserNamespaces(runAsNonRoot)],
  [
    "runAsUser=0",
    exceptInUserNamespaces(bySetters((security) => security["runAsUser"] === 0, "must not set runAsUser=0")),
  ],
  ["seccompProfile", requiredSeccompProfile],
];

/** Such as `privileged` and `container "c" must not set …`. None where the level allows the pod. */
export type Violation = readonly [reason: string, detail: string];

export function violationsOf(
  { metadata, spec }: { readonly metadata: JsonObject; readonly spec: JsonObject },
  level: "baseline" | "restricted",
  version: StandardVersion,
): readonly Violation[] {
  const containers = ["initContainers", "containers", "ephemeralContainers"]
    .flatMap((list) => listAt(spec, list))
    .map((value) => ({ name: textAt(value, "name"), value, security: objectAt(value, "securityContext") }));
  const security = objectAt(spec, "securityContext");
  const pod = { spec, annotations: objectAt(metadata, "annotations"), security, containers };
  const isKept = ([reason]: Rule): boolean => {
    const since = REPLACED.get(reason);
    return since === undefined || version < since;
  };
  return (level === "baseline" ? BASELINE : [...BASELINE.filter(isKept), ...RESTRICTED])
    .filter(([, , since = 0]) => version >= since)
    .map(([reason, check]): Violation => [reason, check(pod, version)])
    .filter(([, detail]) => detail !== "");
}
