// The OpenAPI documents of a changing set of resources. Parts of a version are kept while its resources stay the same, and documents are joined from
// them, in steps: a cluster may have thousands of versions.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson, stringifyJsonInSteps } from "@postern/apimachinery/json/stringify-json";
import { toOpenApiV2 } from "@postern/apimachinery/schema/openapi/openapi-v2";
import { type DescriptionsOf, toOpenApiV3 } from "@postern/apimachinery/schema/openapi/openapi-v3";
import type { Steps } from "@postern/apimachinery/steps/steps";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import type { ApiGroup, ApiVersion } from "../discovery/api-groups.ts";
import { type PreparedBody, prepareBodyInSteps } from "../discovery/prepared-document.ts";
import { type ApiPath, apiPaths, discoveryPath, isBuiltIn } from "./api-paths.ts";
import {
  ALWAYS_PUBLISHED,
  type Component,
  componentNames,
  ownComponents,
  references,
  type SchemaNames,
  sharedComponents,
  writeComponent,
} from "./components.ts";
import { encodeGnosticDocument, encodeGnosticMember, encodeV3Document, gnosticMember } from "./encode-gnostic.ts";
import { namedParts } from "./named-parts.ts";
import { nonResourcePaths } from "./non-resource-paths.ts";
import { writeV2Paths } from "./write-v2-paths.ts";
import { writeV3Paths } from "./write-v3-paths.ts";

export type ApiInfo = { readonly title: string; readonly version: string };

export type OpenApiDocuments = {
  /** The paths behind `/openapi/v3/`, such as `apis/management.example.com/v1`, sorted. */
  readonly names: readonly string[];
  /** Undefined for an unknown name. */
  v3(name: string): Steps<PreparedBody> | undefined;
  /** The document `name`, which must be one of `names`, in protobuf. */
  v3Protobuf(name: string): Steps<PreparedBody>;
  /** The hash of the document `name`, which must be one of `names`. */
  v3Hash(name: string): Steps<string>;
  v2(): Steps<PreparedBody>;
  v2Protobuf(): Steps<PreparedBody>;
};

/** Documents of versions that are kept; others are written again, from kept parts. */
const KEPT_V3_BYTES = 8 * 1024 * 1024;

/** A schema as text, with the components that it refers to. */
type WrittenComponent = { readonly text: string; readonly references: readonly string[] };

/** The paths of a document, and the components that only this document has. */
type Part = {
  readonly paths: readonly ApiPath[];
  readonly resources: readonly ResourceDefinition[];
  readonly own: readonly Component[];
  hash?: string;
  v2?: V2Part | undefined;
  v2Protobuf?: V2Part | undefined;
};

/** Content of `paths` and `definitions` in one encoding, and names of the shared parameters. Once joined, views of the document. */
type V2Part = { readonly paths: Uint8Array; readonly definitions: Uint8Array; readonly parameters: readonly string[] };

/** Resources that do not come from definitions of clients, and the components of all of them: they may refer to each other. */
type Fixed = {
  readonly resources: readonly ResourceDefinition[];
  readonly components: ReadonlyMap<string, Component>;
  readonly descriptions: DescriptionsOf;
  readonly names: SchemaNames;
  readonly v3: Map<string, WrittenComponent>;
  /** Parameters of v2 as members of JSON, by their names, which are digests of their content. */
  readonly parameters: Map<string, string>;
  readonly part: Part;
};

export function createOpenApiDocuments(
  info: ApiInfo,
  descriptions: DescriptionsOf = () => undefined,
  otherPaths: readonly string[] = [],
): (groups: readonly ApiGroup[]) => OpenApiDocuments {
  let fixed: Fixed | undefined;
  let parts: ReadonlyMap<string, Part> = new Map();
  const bodies = new Map<string, { readonly part: Part; readonly body: PreparedBody }>();

  return (groups) => {
    const all = groups.flatMap(({ versions }) => versions).flatMap(({ resources }) => resources);
    const withoutDefinition = all.filter((resource) => !isDefined(resource));
    const current =
      fixed !== undefined && areSame(fixed.resources, withoutDefinition)
        ? fixed
        : fixedOf(withoutDefinition, descriptions);
    const known = current === fixed ? parts : new Map<string, Part>();
    fixed = current;
    const own = partsOf(nonResourcePaths(groups, otherPaths), groups, current, known);
    parts = own;
    for (const [name, { part }] of bodies) if (own.get(name) !== part) bodies.delete(name);
    return documentsOf(own, current, bodies, info);
  };
}

/** Whether a resource comes from a CustomResourceDefinition. */
const isDefined = ({ storedSchemas }: ResourceDefinition): boolean => storedSchemas !== undefined;

const areSame = <T>(a: readonly T[], b: readonly T[]): boolean =>
  a.length === b.length && a.every((each, index) => each === b[index]);

function fixedOf(resources: readonly ResourceDefinition[], descriptions: DescriptionsOf): Fixed {
  const components = new Map(sharedComponents(resources).map((component) => [component.name, component]));
  for (const resource of resources) addMissing(components, ownComponents(resource));
  const own = componentNames([...components.values()]);
  const parts = namedParts(resources, (schema) => own.get(schema) !== undefined);
  addMissing(
    components,
    [...parts.components].map(([name, schema]) => ({ name, schema, isDescribedByReferences: true as const })),
  );
  const names: SchemaNames = { get: (schema) => own.get(schema) ?? parts.names.get(schema) };
  const sorted = [...components.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    resources,
    components,
    descriptions,
    names,
    v3: new Map(),
    parameters: new Map(),
    part: { paths: [], resources: [], own: sorted },
  };
}

function addMissing(components: Map<string, Component>, more: readonly Component[]): void {
  for (const component of more) if (!components.has(component.name)) components.set(component.name, component);
}

function partsOf(
  nonResource: ReadonlyMap<string, ApiPath>,
  groups: readonly ApiGroup[],
  { components }: Fixed,
  known: ReadonlyMap<string, Part>,
): ReadonlyMap<string, Part> {
  const parts = new Map<string, Part>();
  for (const [name, path] of nonResource) {
    parts.set(name, known.get(name) ?? { paths: [path], resources: [], own: [] });
  }
  for (const version of groups.flatMap(({ versions }) => versions)) {
    const name = documentName(version);
    const before = known.get(name);
    parts.set(name, before !== undefined && areSame(before.resources, version.resources) ? before : partOf(version));
  }
  return new Map([...parts].sort(([a], [b]) => (a < b ? -1 : 1)));

  function partOf({ group, version, resources }: ApiVersion): Part {
    const discovery = resources.some(isBuiltIn) ? [discoveryPath({ group, version })] : [];
    const own = new Map<string, Component>();
    for (const resource of resources.filter(isDefined)) addMissing(own, ownComponents(resource));
    return {
      get paths() {
        return [...discovery, ...resources.flatMap(apiPaths)].sort(byPath);
      },
      resources,
      // No other code gives a component of the server another meaning.
      own: [...own.values()].filter(({ name }) => !components.has(name)),
    };
  }
}

function documentsOf(
  parts: ReadonlyMap<string, Part>,
  fixed: Fixed,
  bodies: Map<string, { readonly part: Part; readonly body: PreparedBody }>,
  info: ApiInfo,
): OpenApiDocuments {
  function keep(name: string, part: Part, body: PreparedBody): void {
    bodies.delete(name);
    bodies.set(name, { part, body });
    let bytes = 0;
    for (const { body: each } of bodies.values()) bytes += each.bytes.length;
    for (const [oldest, { body: each }] of bodies) {
      if (bytes <= KEPT_V3_BYTES || bodies.size === 1) return;
      bodies.delete(oldest);
      bytes -= each.bytes.length;
    }
  }

  function* v3Body(name: string, part: Part): Steps<PreparedBody> {
    const kept = bodies.get(name);
    const body = kept?.part === part ? kept.body : yield* writeV3(part, fixed, info);
    part.hash = body.hash;
    // Not kept if the set of resources has changed meanwhile.
    if (parts.get(name) === part) keep(name, part, body);
    return body;
  }

  function* v3Hash(name: string): Steps<string> {
    const part = parts.get(name);
    if (part === undefined) throw new Error(`no document ${name}`);
    return part.hash ?? (yield* v3Body(name, part)).hash;
  }

  const all = [fixed.part, ...parts.values()];

  return {
    names: [...parts.keys()],
    v3(name) {
      const part = parts.get(name);
      return part === undefined ? undefined : v3Body(name, part);
    },
    *v3Protobuf(name) {
      const part = parts.get(name);
      if (part === undefined) throw new Error(`no document ${name}`);
      const key = `${name} protobuf`;
      const kept = bodies.get(key);
      if (kept?.part === part) return kept.body;
      const body = yield* encodeV3(part, fixed, info);
      keep(key, part, body);
      return body;
    },
    v3Hash,
    *v2() {
      const written: V2Part[] = [];
      for (const part of all) written.push(part.v2 ?? (yield* writeV2(part, fixed)));
      const chunks = [
        Buffer.from(`${stringifyJson({ swagger: "2.0", info }).slice(0, -1)},"paths":{`),
        ...separated(written.map(({ paths }) => paths)),
        Buffer.from(`},"parameters":{${parametersOf(written, fixed)}},"definitions":{`),
        ...separated(written.map(({ definitions }) => definitions)),
        Buffer.from(`},${stringifyJson(BEARER_TOKEN).slice(1)}`),
      ];
      const body = yield* prepareBodyInSteps(chunks);
      const views = viewsOf(written, chunks, body);
      for (const [index, part] of all.entries()) part.v2 = views[index];
      return body;
    },
    *v2Protobuf() {
      const written: V2Part[] = [];
      for (const part of all) {
        written.push(part.v2Protobuf ?? (yield* encodeV2(part, part.v2 ?? (yield* writeV2(part, fixed)), fixed)));
      }
      const parameters = objectOf(Buffer.from(parametersOf(written, fixed)));
      const chunks = [
        encodeGnosticDocument({ swagger: "2.0", info }),
        ...gnosticMember(
          "paths",
          written.map(({ paths }) => paths),
        ),
        ...gnosticMember("parameters", [yield* encodeGnosticMember("parameters", parameters)]),
        ...gnosticMember(
          "definitions",
          written.map(({ definitions }) => definitions),
        ),
        encodeGnosticDocument(BEARER_TOKEN),
      ];
      const body = yield* prepareBodyInSteps(chunks);
      const views = viewsOf(written, chunks, body);
      for (const [index, part] of all.entries()) part.v2Protobuf = views[index];
      return body;
    },
  };
}

const BEARER_TOKEN = {
  securityDefinitions: {
    BearerToken: { type: "apiKey", name: "authorization", in: "header", description: "Bearer Token authentication" },
  },
  security: [{ BearerToken: [] }],
};

const COMMA = Buffer.from(",");

const separated = (texts: readonly Uint8Array[]): readonly Uint8Array[] =>
  texts.filter(({ length }) => length > 0).flatMap((text, index) => (index === 0 ? [text] : [COMMA, text]));

/** The parts as they lie in the document, so that they take no memory beside it. */
function viewsOf(parts: readonly V2Part[], chunks: readonly Uint8Array[], { bytes }: PreparedBody): readonly V2Part[] {
  const offsets = new Map<Uint8Array, number>();
  let offset = 0;
  for (const chunk of chunks) {
    offsets.set(chunk, offset);
    offset += chunk.length;
  }
  const view = (chunk: Uint8Array): Uint8Array => {
    const at = offsets.get(chunk);
    return at === undefined ? chunk : bytes.subarray(at, at + chunk.length);
  };
  return parts.map(({ paths, definitions, parameters }) => ({
    paths: view(paths),
    definitions: view(definitions),
    parameters,
  }));
}

const parametersOf = (parts: readonly V2Part[], { parameters }: Fixed): string =>
  [...new Set(parts.flatMap((part) => part.parameters))].map((name) => parameters.get(name)).join(",");

const member = (name: string, text: string): string => `${JSON.stringify(name)}:${text}`;

type V3Document = {
  readonly paths: JsonObject;
  /** Sorted by name. */
  readonly schemas: readonly (readonly [name: string, text: string])[];
};

/** The paths, and all components that they refer to. */
function* collectV3(part: Part, fixed: Fixed): Steps<V3Document> {
  const names = namesFor(part, fixed);
  const own = new Map(part.own.map((component) => [component.name, component]));
  const written = new Map<string, WrittenComponent>();
  const paths = writeV3Paths(part.paths);
  yield;
  const pending = [...ALWAYS_PUBLISHED, ...(yield* references(paths))];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (written.has(name)) continue;
    const component = own.get(name) ?? fixed.components.get(name);
    if (component === undefined) continue;
    const known = own.has(name) ? undefined : fixed.v3.get(name);
    const text = known ?? (yield* writeV3Component(component, own.has(name) ? names : fixed.names, fixed.descriptions));
    if (!own.has(name)) fixed.v3.set(name, text);
    written.set(name, text);
    pending.push(...text.references);
  }
  const sorted = [...written].sort(([a], [b]) => (a < b ? -1 : 1));
  return { paths, schemas: sorted.map(([name, { text }]) => [name, text] as const) };
}

function* writeV3(part: Part, fixed: Fixed, info: ApiInfo): Steps<PreparedBody> {
  const { paths, schemas } = yield* collectV3(part, fixed);
  const head = stringifyJson({ openapi: "3.0.0", info, paths }).slice(0, -1);
  const members = schemas.map(([name, text]) => member(name, text));
  return yield* prepareBodyInSteps([Buffer.from(`${head},"components":{"schemas":{${members.join(",")}}}}`)]);
}

function* encodeV3(part: Part, fixed: Fixed, info: ApiInfo): Steps<PreparedBody> {
  const { paths, schemas } = yield* collectV3(part, fixed);
  return yield* prepareBodyInSteps(yield* encodeV3Document({ openapi: "3.0.0", info, paths }, schemas));
}

function* writeV3Component(
  component: Component,
  names: SchemaNames,
  descriptions: DescriptionsOf,
): Steps<WrittenComponent> {
  const json = yield* writeComponent(component, names, toOpenApiV3, descriptions);
  yield;
  const text = yield* stringifyJsonInSteps(json);
  yield;
  return { text, references: yield* references(json) };
}

function* writeV2(part: Part, fixed: Fixed): Steps<V2Part> {
  const names = namesFor(part, fixed);
  const { paths, parameters } = writeV2Paths(part.paths);
  yield;
  const definitions: string[] = [];
  for (const component of part.own) {
    const json = yield* writeComponent(component, names, toOpenApiV2, fixed.descriptions);
    yield;
    definitions.push(member(component.name, yield* stringifyJsonInSteps(json)));
    yield;
  }
  for (const [name, parameter] of Object.entries(parameters)) {
    if (!fixed.parameters.has(name)) fixed.parameters.set(name, member(name, stringifyJson(parameter ?? null)));
  }
  return {
    paths: Buffer.from(stringifyJson(paths).slice(1, -1)),
    definitions: Buffer.from(definitions.join(",")),
    parameters: Object.keys(parameters),
  };
}

const [OPEN, CLOSE] = [Buffer.from("{"), Buffer.from("}")];

/** From the text of its members. */
const objectOf = (members: Uint8Array): JsonObject =>
  // An object, because of the braces.
  parseJson(Buffer.concat([OPEN, members, CLOSE])) as JsonObject;

/** The paths from their text, which is kept, and the definitions one by one: a definition may be large. */
function* encodeV2(part: Part, { paths, parameters }: V2Part, fixed: Fixed): Steps<V2Part> {
  const encodedPaths = yield* encodeGnosticMember("paths", objectOf(paths));
  yield;
  const names = namesFor(part, fixed);
  const definitions: Uint8Array[] = [];
  for (const component of part.own) {
    const json = yield* writeComponent(component, names, toOpenApiV2, fixed.descriptions);
    yield;
    definitions.push(yield* encodeGnosticMember("definitions", { [component.name]: json }));
    yield;
  }
  return { paths: encodedPaths, definitions: Buffer.concat(definitions), parameters };
}

/** The names of the fixed resources and of the part. */
function namesFor({ own }: Part, { names }: Fixed): SchemaNames {
  const ofPart = componentNames(own);
  return { get: (schema) => ofPart.get(schema) ?? names.get(schema) };
}

const documentName = ({ group, version }: ApiVersion): string =>
  group === "" ? `api/${version}` : `apis/${group}/${version}`;

const byPath = (a: ApiPath, b: ApiPath): number => (a.path < b.path ? -1 : 1);
