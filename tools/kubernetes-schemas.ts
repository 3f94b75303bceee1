// Writes the tables of the types that built-in kinds hold and that only nodes, storage and devices read: `tsx tools/kubernetes-schemas.ts FILE DEVICES`,
// where FILE is what a kube-apiserver 1.36 answers at `/openapi/v3/api/v1`, and DEVICES what it answers at `/openapi/v3/apis/resource.k8s.io/v1`.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const [source, devices] = process.argv.slice(2);
if (source === undefined || devices === undefined)
  throw new Error("usage: tsx tools/kubernetes-schemas.ts FILE DEVICES");

type Schema = {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly type?: string;
  readonly format?: string;
  readonly required?: readonly string[];
  readonly properties?: { readonly [name: string]: Schema };
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly [extension: `x-kubernetes-${string}`]: string | readonly string[] | undefined;
};

const CORE = "io.k8s.api.core.v1.";
const DEVICES = "io.k8s.api.resource.v1.";
const DEVICE_ROOTS = ["DeviceClassSpec", "ResourceClaimSpec", "ResourceClaimStatus", "ResourceSliceSpec"];
/** Members that Go writes as null where they are empty: nothing in the published schemas says so. */
const NULLABLE = new Set(["AllocatedDeviceStatus.conditions", "CapacityRequestPolicy.default", "DeviceClaim.requests"]);
const META = "io.k8s.apimachinery.pkg.apis.meta.v1.";
/** Types that a table needs, with all that they hold. The other types of pods are written by hand. */
const ROOTS = [
  ..."Affinity AttachedVolume ContainerExtendedResourceRequest ContainerImage ContainerResizePolicy ContainerRestartRule".split(
    " ",
  ),
  ..."ContainerStatus ExecAction FileKeySelector GRPCAction HTTPGetAction HostIP Lifecycle ModifyVolumeStatus".split(
    " ",
  ),
  ..."NodeConfigSource NodeConfigStatus NodeDaemonEndpoints NodeFeatures NodeRuntimeHandler NodeSwapStatus".split(" "),
  ..."PersistentVolumeClaimTemplate PersistentVolumeSpec PersistentVolumeStatus PodDNSConfig".split(" "),
  ..."PodExtendedResourceClaimStatus PodReadinessGate PodResourceClaimStatus PodSchedulingGroup PodSecurityContext".split(
    " ",
  ),
  ..."NodeAllocatableResourceClaimStatus ResourceFieldSelector ResourceRequirements SecurityContext TCPSocketAction Toleration".split(
    " ",
  ),
  ..."TypedLocalObjectReference TypedObjectReference Volume".split(" "),
];
const SCALARS: { readonly [type: string]: string } = {
  "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "intOrString",
  "io.k8s.apimachinery.pkg.runtime.RawExtension": "raw",
  [`${META}Time`]: "time",
  [`${META}ObjectMeta`]: "metadata",
};
const FORMATS: { readonly [format: string]: string } = { int32: "int32", int64: "int64", byte: "bytes" };

type Document = { readonly components: { readonly schemas: { readonly [name: string]: Schema } } };

const schemasIn = (file: string): { readonly [name: string]: Schema } =>
  (JSON.parse(readFileSync(file, "utf8")) as Document).components.schemas;
const types = { ...schemasIn(devices), ...schemasIn(source) };
const tables = new Map<string, string>();
const ofDevices = new Set<string>();

const nameOf = ({ $ref, allOf }: Schema): string | undefined => ($ref ?? allOf?.[0]?.$ref)?.split("/").at(-1);

function typeOf(schema: Schema): string {
  const name = nameOf(schema);
  if (name !== undefined) {
    const scalar = SCALARS[name];
    if (scalar !== undefined) return scalar;
    add(name);
    return shortName(name);
  }
  if (schema.items !== undefined) return `[]${typeOf(schema.items)}`;
  if (schema.additionalProperties !== undefined) return `{}${typeOf(schema.additionalProperties)}`;
  if (schema.type === "integer" || schema.format === "byte") return FORMATS[schema.format ?? ""] ?? "int64";
  return schema.type ?? "";
}

const shortName = (name: string): string => name.slice(name.lastIndexOf(".") + 1);

function add(name: string): void {
  const short = shortName(name);
  if (tables.has(short)) return;
  tables.set(short, "");
  if (name.startsWith(DEVICES)) ofDevices.add(short);
  const { properties = {}, required = [], ...rest } = types[name] ?? fail(name);
  const isAtomic = rest["x-kubernetes-map-type"] === "atomic";
  const members = Object.entries(properties).map(([member, schema]) => {
    const keys = schema["x-kubernetes-list-map-keys"];
    const flags = [
      ...(required.includes(member) ? ["required"] : []),
      ...(NULLABLE.has(`${short}.${member}`) ? ["nullable"] : []),
      ...(schema["x-kubernetes-list-type"] === "set" ? ["set"] : []),
      ...flagOf("map", schema["x-kubernetes-map-type"]),
      ...(Array.isArray(keys) ? [`keys=${keys.join(",")}`] : []),
      ...flagOf("merge", schema["x-kubernetes-patch-merge-key"]),
      ...flagOf("strategy", schema["x-kubernetes-patch-strategy"]),
    ];
    return ` ${[member, typeOf(schema), ...flags].join(" ")}`;
  });
  tables.set(short, [`${short}${isAtomic ? " atomic" : ""}`, ...members].join("\n"));
}

const flagOf = (name: string, value: string | readonly string[] | undefined): readonly string[] =>
  typeof value === "string" ? [`${name}=${value}`] : [];

function fail(name: string): never {
  throw new Error(`no type ${name}`);
}

for (const name of ROOTS) add(`${CORE}${name}`);
for (const name of DEVICE_ROOTS) add(`${DEVICES}${name}`);
const out = new URL("../packages/kubernetes/src/builtin/published/", import.meta.url);
const HEADER =
  "// Generated by tools/kubernetes-schemas.ts from the published schemas of Kubernetes 1.36. Do not edit.\n";

function write(file: string, name: string, isIn: (type: string) => boolean): void {
  const sorted = [...tables].filter(([type]) => isIn(type)).sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = sorted.map(([, table]) => table).join("\n");
  writeFileSync(new URL(file, out), `${HEADER}\nexport const ${name} = \`\n${lines}\n\`;\n`);
}

const isOfVolumes = (type: string): boolean => /Volume|Projection/.test(type);
write("volume-types.ts", "VOLUME_TYPES", isOfVolumes);
write("device-types.ts", "DEVICE_TYPES", (type) => ofDevices.has(type));
write("core-types.ts", "CORE_TYPES", (type) => !isOfVolumes(type) && !ofDevices.has(type));
execFileSync("npx", ["--no-install", "biome", "check", "--write", out.pathname], { stdio: "inherit" });
