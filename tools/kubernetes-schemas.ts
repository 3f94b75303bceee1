// Writes the tables of the types that built-in kinds hold and that only nodes and storage read: `tsx tools/kubernetes-schemas.ts FILE`, where FILE is
// what a kube-apiserver 1.36 answers at `/openapi/v3/api/v1`.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const [source] = process.argv.slice(2);
if (source === undefined) throw new Error("usage: tsx tools/kubernetes-schemas.ts FILE");

type Schema = {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: { readonly [name: string]: Schema };
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly [extension: `x-kubernetes-${string}`]: string | readonly string[] | undefined;
};

const CORE = "io.k8s.api.core.v1.";
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
  [`${META}Time`]: "time",
  [`${META}ObjectMeta`]: "metadata",
};
const FORMATS: { readonly [format: string]: string } = { int32: "int32", int64: "int64", byte: "bytes" };

const types = (
  JSON.parse(readFileSync(source, "utf8")) as { components: { schemas: { readonly [name: string]: Schema } } }
).components.schemas;
const tables = new Map<string, string>();

const nameOf = ({ $ref, allOf }: Schema): string | undefined => ($ref ?? allOf?.[0]?.$ref)?.split("/").at(-1);

/** The first sentence, in one line. */
function firstSentence(text = ""): string {
  const [first = ""] = text
    .replaceAll(/\s+/g, " ")
    .replace(/^(?:Required|Optional)[.:] /, "")
    .trim()
    .split(/(?<=[^.][.]) (?=[A-Z])/);
  return first.replaceAll(/[\\`$]/g, "\\$&");
}

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
  const { properties = {}, required = [], description, ...rest } = types[name] ?? fail(name);
  const isAtomic = rest["x-kubernetes-map-type"] === "atomic";
  const members = Object.entries(properties).map(([member, schema]) => {
    const keys = schema["x-kubernetes-list-map-keys"];
    const flags = [
      ...(required.includes(member) ? ["required"] : []),
      ...(schema["x-kubernetes-list-type"] === "set" ? ["set"] : []),
      ...flagOf("map", schema["x-kubernetes-map-type"]),
      ...(Array.isArray(keys) ? [`keys=${keys.join(",")}`] : []),
      ...flagOf("merge", schema["x-kubernetes-patch-merge-key"]),
      ...flagOf("strategy", schema["x-kubernetes-patch-strategy"]),
    ];
    return ` ${[member, typeOf(schema), ...flags].join(" ")}|${firstSentence(schema.description)}`;
  });
  tables.set(short, [`${short}${isAtomic ? " atomic" : ""}|${firstSentence(description)}`, ...members].join("\n"));
}

const flagOf = (name: string, value: string | readonly string[] | undefined): readonly string[] =>
  typeof value === "string" ? [`${name}=${value}`] : [];

function fail(name: string): never {
  throw new Error(`no type ${name}`);
}

for (const name of ROOTS) add(`${CORE}${name}`);
const out = new URL("../packages/kubernetes/src/builtin/published/core-types.ts", import.meta.url);
const lines = [...tables].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, table]) => table);
writeFileSync(
  out,
  `// Generated by tools/kubernetes-schemas.ts from the published schemas of Kubernetes 1.36. Do not edit.\n\nexport const CORE_TYPES = \`\n${lines.join("\n")}\n\`;\n`,
);
execFileSync("npx", ["--no-install", "biome", "check", "--write", out.pathname], { stdio: "inherit" });
