// The reference of kinds and fields, generated from discovery and OpenAPI v3 of a server.

export type Schema = {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly properties?: { readonly [name: string]: Schema };
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly "x-kubernetes-list-type"?: string;
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-selectable-fields"?: readonly { readonly fieldPath: string }[];
};

type ServedResource = {
  readonly name: string;
  readonly namespaced: boolean;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
};

/** One published group. */
export type PublishedGroup = {
  /** Such as `management.postern/v1`. */
  readonly groupVersion: string;
  /** `resources` of `/apis/<groupVersion>`. */
  readonly resources: readonly ServedResource[];
  /** `components.schemas` of `/openapi/v3/apis/<groupVersion>`. */
  readonly schemas: { readonly [name: string]: Schema };
};

const VERBS = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

/** All texts of the platform's kinds have this limit (`foundation/kinds/text-limits.ts`): it is mentioned once. */
const COMMON_MAX_LENGTH = 256 * 1024;

/** Pages by file name, README.md first. Kinds with one resource each get a page; subresources are on the page of their resource. */
export function renderKindReference(groups: readonly PublishedGroup[]): ReadonlyMap<string, string> {
  const resources = groups.flatMap((group) =>
    group.resources.filter(({ name }) => !name.includes("/")).map((resource) => ({ group, resource })),
  );
  const pages = resources.map(
    ({ group, resource }) => [`${resource.kind.toLowerCase()}.md`, kindPage(group, resource)] as const,
  );
  return new Map([["README.md", indexPage(resources)], ...pages]);
}

function indexPage(
  resources: readonly { readonly group: PublishedGroup; readonly resource: ServedResource }[],
): string {
  const rows = resources.map(({ group, resource }) => {
    const { kind, name, shortNames = [], namespaced } = resource;
    const names = [name, ...shortNames].map((text) => `\`${text}\``).join(", ");
    const scope = namespaced ? "namespaced" : "cluster";
    const { description = "" } = schemaOf(group, kind);
    return `| [${kind}](${kind.toLowerCase()}.md) | ${names} | \`${group.groupVersion}\` | ${scope} | ${cell(description)} |`;
  });
  return `# Kinds

${MADE}

Every kind of the API of Postern, with all fields. \`kubectl explain\` shows the same texts from your server. With another
\`--platform-domain\` the groups have that domain instead of \`postern\`.

| kind | resource, short name | API version | scope | what it is |
|---|---|---|---|---|
${rows.join("\n")}

The management API also serves these kinds of Kubernetes, with the fields that Kubernetes documents: Namespace, Secret, Service, Event, Lease,
Role, RoleBinding, ClusterRole, ClusterRoleBinding, CustomResourceDefinition, TokenReview and the access reviews. Embedded virtual clusters serve
more: see [Kubernetes conformance](../kubernetes-conformance.md).

## Reading these pages

- \`[]\` after a name is a list, \`.*\` a map with names that you choose. A field in bold is required.
- \`apiVersion\`, \`kind\` and \`metadata\` are those of every Kubernetes object, and are left out.
- A string has at most ${COMMON_MAX_LENGTH.toLocaleString("en-US")} characters, unless its field has a lower limit.
- \`status\` is written by the server. Clients write it only through the subresource \`status\`, where there is one.
- A subresource is authorized as \`<verb> <resource>/<subresource>\`.
`;
}

const MADE = "<!-- Made by tools/generate-kind-reference.ts. -->";

function kindPage(group: PublishedGroup, resource: ServedResource): string {
  const { kind, name, shortNames = [], namespaced, verbs } = resource;
  const schema = schemaOf(group, kind);
  const selectable = schema["x-kubernetes-selectable-fields"] ?? [];
  const subresources = group.resources.filter((other) => other.name.startsWith(`${name}/`));
  const facts = [
    ["API version", `\`${group.groupVersion}\``],
    ["resource", [name, ...shortNames].map((text) => `\`${text}\``).join(", ")],
    ["scope", namespaced ? "namespaced, in the namespace of a project" : "cluster"],
    ["verbs", inOrder(verbs).join(", ")],
    ...(selectable.length === 0
      ? []
      : [["field selectors", selectable.map(({ fieldPath }) => `\`${fieldPath.replace(/^\./, "")}\``).join(", ")]]),
  ];
  const sections = subresources.map((subresource) => subresourceSection(group, resource, subresource));
  return `# ${kind}

${MADE}

${schema.description ?? ""}

| | |
|---|---|
${facts.map(([what, text]) => `| ${what} | ${text} |`).join("\n")}

## Fields

${fieldTable(schema)}
${sections.map((section) => `\n${section}\n`).join("")}`;
}

function subresourceSection(group: PublishedGroup, parent: ServedResource, subresource: ServedResource): string {
  const { name, kind, verbs } = subresource;
  const title = `## ${name.split("/")[1]}`;
  const allowed = inOrder(verbs).join(", ");
  if (kind === parent.kind)
    return `${title}\n\nVerbs: ${allowed}. The object itself, of which only \`status\` is written.`;
  const schema = schemaOf(group, kind);
  return `${title}\n\nKind ${kind}. Verbs: ${allowed}. ${schema.description ?? ""}\n\n${fieldTable(schema)}`;
}

const inOrder = (verbs: readonly string[]): readonly string[] =>
  verbs.toSorted((a, b) => VERBS.indexOf(a) - VERBS.indexOf(b));

function schemaOf({ schemas }: PublishedGroup, kind: string): Schema {
  const found = Object.entries(schemas).find(([name]) => name.endsWith(`.${kind}`));
  if (found === undefined) throw new Error(`no schema is published for ${kind}`);
  return found[1];
}

function fieldTable(schema: Schema): string {
  const rows = fieldRows(schema, "");
  return rows.length === 0
    ? "No fields of its own."
    : ["| field | type | description |", "|---|---|---|", ...rows].join("\n");
}

/** A row for each member of an object, followed by rows of its own members. */
function fieldRows({ properties = {}, required = [] }: Schema, prefix: string): readonly string[] {
  return Object.entries(ownMembers(properties)).flatMap(([name, member]) => {
    const { path, inner } = unwrap(member, `${prefix}${name}`);
    const shown = `\`${path}\``;
    const texts = [member.description ?? "", member === inner ? "" : (inner.description ?? "")].map(withoutEmphasis);
    const description = cell([...texts, limitsOf(member, inner)].filter((text) => text !== "").join(" "));
    return [
      `| ${required.includes(name) ? `**${shown}**` : shown} | ${typeOf(member)} | ${description} |`,
      ...fieldRows(inner, `${path}.`),
    ];
  });
}

/** Without the fields that all Kubernetes objects have. */
function ownMembers(properties: NonNullable<Schema["properties"]>): NonNullable<Schema["properties"]> {
  const { apiVersion, kind, metadata, ...own } = properties;
  return apiVersion === undefined || metadata === undefined ? properties : own;
}

/** The schema within lists and maps, and the path to it. */
function unwrap(schema: Schema, path: string): { readonly path: string; readonly inner: Schema } {
  if (schema.items !== undefined) return unwrap(schema.items, `${path}[]`);
  if (typeof schema.additionalProperties === "object") return unwrap(schema.additionalProperties, `${path}.*`);
  return { path, inner: schema };
}

function typeOf(schema: Schema): string {
  const { type, format, items, additionalProperties } = schema;
  if (items !== undefined) return `list of ${typeOf(items)}`;
  if (typeof additionalProperties === "object") return `map of ${typeOf(additionalProperties)}`;
  if (format === "date-time") return "time";
  if (format === "byte") return "base64";
  return type ?? "any";
}

/** Allowed values, bounds and the default, one sentence each. */
function limitsOf(outer: Schema, inner: Schema): string {
  const { minimum, maximum, minLength, maxLength = COMMON_MAX_LENGTH, pattern } = inner;
  const listKeys = outer["x-kubernetes-list-map-keys"];
  const sentences = [
    inner.enum === undefined ? "" : `One of ${inner.enum.map(shownValue).join(", ")}.`,
    bounds(minimum, maximum, ""),
    bounds(minLength, maxLength === COMMON_MAX_LENGTH ? undefined : maxLength, " characters"),
    bounds(outer.minItems, outer.maxItems, " entries"),
    pattern === undefined ? "" : `Matches \`${pattern}\`.`,
    listKeys === undefined ? "" : `Entries are identified by ${listKeys.map((key) => `\`${key}\``).join(" and ")}.`,
    outer.default === undefined ? "" : `Default: \`${JSON.stringify(outer.default)}\`.`,
  ];
  return sentences.filter((sentence) => sentence !== "").join(" ");
}

const shownValue = (value: unknown): string =>
  `\`${typeof value === "string" && value !== "" ? value : JSON.stringify(value)}\``;

function bounds(least: number | undefined, most: number | undefined, unit: string): string {
  if (least === undefined && most === undefined) return "";
  if (least === 1 && most === undefined && unit !== "") return "Not empty.";
  if (most === undefined) return `At least ${least}${unit}.`;
  return least === undefined ? `At most ${most}${unit}.` : `${least} to ${most}${unit}.`;
}

/** Escapes wildcards for Markdown. */
const withoutEmphasis = (text: string): string => text.replaceAll("*", "\\*");

/** Text for a table cell. */
const cell = (text: string): string =>
  text.replaceAll("|", "\\|").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("\n", " ");
