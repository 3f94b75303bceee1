// Writes the tables of Kubernetes' protobuf messages from its published types: `tsx tools/kubernetes-messages.ts DIRECTORY`, where DIRECTORY has the
// modules of k8s.io as they are released (`api/core/v1/generated.proto` and so on). The numbers and types of fields come from the .proto files; that
// a field is a pointer, or is written to JSON when it is zero, only the tags of the Go types beside them say.

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [directory] = process.argv.slice(2);
if (directory === undefined) throw new Error("usage: tsx tools/kubernetes-messages.ts DIRECTORY");

const META = "k8s.io.apimachinery.pkg.apis.meta.v1";

/** Packages by the file that their tables go to. */
const FILES: { readonly [file: string]: readonly string[] } = {
  core: ["k8s.io.api.core.v1"],
  workloads: ["apps.v1", "autoscaling.v1", "autoscaling.v2", "batch.v1", "policy.v1", "scheduling.v1"].map(inApi),
  cluster: [
    ...["discovery.v1", "networking.v1", "node.v1", "storage.v1", "coordination.v1", "events.v1", "flowcontrol.v1"].map(
      inApi,
    ),
    inApi("resource.v1"),
    "k8s.io.kube_aggregator.pkg.apis.apiregistration.v1",
  ],
  access: [
    META,
    ...["admissionregistration.v1", "authentication.v1", "authorization.v1", "certificates.v1", "rbac.v1"].map(inApi),
    "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1",
    ...["apidiscovery.v2", "apidiscovery.v2beta1"].map(inApi),
  ],
};

/** Kinds of meta/v1 that bodies have; lists need no table. */
const META_KINDS = ["DeleteOptions", "Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList"];
const META_MESSAGES = [...META_KINDS, "PartialObjectMetadata", "ListMeta", "ObjectMeta"];

/** Messages that have a JSON form of their own. */
const FORMS: { readonly [name: string]: string } = {
  [`${META}.Time`]: "time",
  [`${META}.MicroTime`]: "microTime",
  [`${META}.FieldsV1`]: "raw",
  [`${META}.Verbs`]: "texts",
  "k8s.io.api.authentication.v1.ExtraValue": "texts",
  "k8s.io.api.authorization.v1.ExtraValue": "texts",
  "k8s.io.api.certificates.v1.ExtraValue": "texts",
  "k8s.io.apimachinery.pkg.api.resource.Quantity": "quantity",
  "k8s.io.apimachinery.pkg.util.intstr.IntOrString": "intOrString",
  "k8s.io.apimachinery.pkg.runtime.RawExtension": "raw",
  "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSON": "raw",
  "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": "schemaOrBool",
  "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": "schemaOrList",
  "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": "schemaOrTexts",
};

const SCALARS: { readonly [type: string]: string } = {
  string: "s",
  int32: "i",
  int64: "i",
  bool: "b",
  double: "d",
  bytes: "bytes",
};

type ProtoField = { readonly number: number; readonly type: string; readonly shape: "one" | "list" | "map" };
type GoField = { readonly json: string; readonly isPointer: boolean; readonly isOmitted: boolean };
type Package = {
  readonly group: string;
  readonly version: string;
  readonly messages: ReadonlyMap<string, readonly ProtoField[]>;
  readonly fields: ReadonlyMap<string, ReadonlyMap<number, GoField>>;
  readonly kinds: readonly string[];
};

const isKind = (body: string): boolean => /^\s+(?:\w+\.)?TypeMeta\s+`json:",inline"/m.test(body);

function inApi(name: string): string {
  return `k8s.io.api.${name}`;
}

/** `k8s.io.api.core.v1` is in `api/core/v1`. */
const pathOf = (name: string): string =>
  join(directory as string, name.slice("k8s.io.".length).replaceAll(".", "/").replaceAll("_", "-"));

function readPackage(name: string): Package {
  const path = pathOf(name);
  const sources = readdirSync(path)
    .filter((file) => file.endsWith(".go") && !/_test\.go$|^zz_|^generated\./.test(file))
    .map((file) => readFileSync(join(path, file), "utf8"));
  const go = sources.join("\n");
  const structs = [...go.matchAll(/^type (\w+) struct \{\n(.*?)^\}/gms)].map(
    ([, struct = "", body = ""]) => [struct, body] as const,
  );
  return {
    group: /GroupName\s*=\s*"([^"]*)"/.exec(go)?.[1] ?? "",
    version: name.split(".").at(-1) ?? "",
    messages: readMessages(readFileSync(join(path, "generated.proto"), "utf8"), name),
    fields: new Map(structs.map(([struct, body]) => [struct, readGoFields(body)])),
    kinds: structs.flatMap(([struct, body]) => (isKind(body) ? [struct] : [])),
  };
}

function readMessages(proto: string, name: string): ReadonlyMap<string, readonly ProtoField[]> {
  const text = proto.replaceAll(/^\s*\/\/.*$/gm, "");
  const qualified = (type: string): string => {
    if (type in SCALARS) return type;
    return type.startsWith(".") ? type.slice(1) : `${name}.${type}`;
  };
  return new Map(
    [...text.matchAll(/^message (\w+) \{\n(.*?)^\}/gms)].map(([, message = "", body = ""]) => {
      const fields = [...body.matchAll(/^\s+(optional|repeated|map<string,) ?([\w.]+)>? \w+ = (\d+);/gm)].map(
        ([, label, type = "", number]): ProtoField => ({
          number: Number(number),
          type: qualified(type),
          shape: label === "optional" ? "one" : label === "repeated" ? "list" : "map",
        }),
      );
      if (fields.length !== body.match(/ = \d+;/g)?.length && body.trim() !== "")
        throw new Error(`fields of ${message}`);
      return [message, fields.sort((a, b) => a.number - b.number)];
    }),
  );
}

function readGoFields(body: string): ReadonlyMap<number, GoField> {
  return new Map(
    [...body.matchAll(/^\s+(?:\w+\s+)?(\S+)\s+`json:"([^"]*)"[^`]*protobuf:"\w+,(\d+)[^`]*`/gm)].map(
      ([, type = "", json = "", number]) => {
        const [member = "", ...options] = json.split(",");
        return [
          Number(number),
          { json: member, isPointer: type.startsWith("*"), isOmitted: options.includes("omitempty") },
        ];
      },
    ),
  );
}

const packages = new Map(
  Object.values(FILES)
    .flat()
    .map((name) => [name, readPackage(name)]),
);
const files = new Map(Object.keys(FILES).map((file) => [file, new Map<string, string>()]));
const kinds: string[] = [];

/** `core.v1.Pod`: without what all packages begin with. */
const shortName = (name: string): string => name.replace(/^k8s\.io\.(api|.*\.apis)\./, "");

/** Adds the table of a message, and of all that it holds. Types of the same package go without its name. */
function add(full: string): void {
  const at = full.lastIndexOf(".");
  const [name, message] = [full.slice(0, at), full.slice(at + 1)];
  const { messages, fields } = packages.get(name) ?? fail(`no package of ${full}`);
  const lines = files.get(Object.keys(FILES).find((file) => FILES[file]?.includes(name)) ?? "") ?? fail(name);
  if (lines.has(shortName(full))) return;
  lines.set(shortName(full), "");
  const held = messages.get(message) ?? fail(`no message ${full}`);
  const parts = held.map(({ number, type, shape }) => {
    const { json, isPointer, isOmitted } = fields.get(message)?.get(number) ?? fail(`no field ${number} of ${full}`);
    const form = SCALARS[type] ?? FORMS[type];
    if (form === undefined) add(type);
    else if (form.startsWith("schema")) add(`${name}.JSONSchemaProps`);
    const prefix = shape === "one" ? "" : shape === "list" ? "[]" : "{}";
    const isWritten = shape !== "one" || (type in SCALARS && type !== "bytes");
    const isRequired = isWritten && !isPointer && !isOmitted;
    const suffix = isPointer ? "?" : isRequired ? "!" : "";
    const isNear = type.startsWith(`${name}.`) && !type.slice(name.length + 1).includes(".");
    return `${number}:${json}:${prefix}${form ?? (isNear ? type.slice(name.length + 1) : shortName(type))}${suffix}`;
  });
  lines.set(shortName(full), parts.join(" "));
}

function fail(why: string): never {
  throw new Error(why);
}

for (const message of META_MESSAGES) add(`${META}.${message}`);
for (const kind of META_KINDS) kinds.push(`v1/${kind} ${shortName(META)}.${kind}`);
for (const [name, { group, version, kinds: own, messages }] of packages) {
  if (name === META) continue;
  for (const kind of own) {
    const metadata = messages.get(kind)?.[0]?.type;
    const isDiscovery = name.includes("apidiscovery") && metadata === `${META}.ListMeta`;
    if (metadata !== `${META}.ObjectMeta` && !isDiscovery) continue;
    add(`${name}.${kind}`);
    kinds.push(`${group === "" ? "" : `${group}/`}${version}/${kind} ${shortName(`${name}.${kind}`)}`);
  }
}

const out = new URL("../packages/apimachinery/src/protobuf/messages/", import.meta.url);
const HEADER =
  "// Generated by tools/kubernetes-messages.ts from the published types of Kubernetes 1.36. Do not edit.\n";
const table = (name: string, lines: readonly string[]): string =>
  `export const ${name} = \`\n${lines.map((line) => line.replace(/[\\`$]/g, "\\$&")).join("\n")}\n\`;\n`;

for (const [file, lines] of files) {
  const sorted = [...lines].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, fields]) => `${name} ${fields}`.trim());
  writeFileSync(new URL(`${file}.ts`, out), `${HEADER}\n${table(`${file.toUpperCase()}_MESSAGES`, sorted)}`);
}
writeFileSync(new URL("kinds.ts", out), `${HEADER}\n${table("KIND_MESSAGES", kinds.sort())}`);
execFileSync("npx", ["--no-install", "biome", "check", "--write", out.pathname], { stdio: "inherit" });
