// The paths and operations of a resource, independent of the OpenAPI version.
// Source: k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder/builder.go

import type { GroupVersion, GroupVersionKind } from "@postern/apimachinery/meta/group-version";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import {
  CONNECT_METHODS,
  type ServedSubresource,
  servedSubresources,
  servedVerbs,
} from "../discovery/served-resource.ts";
import { OBJECT_MEDIA_TYPES } from "./media-types.ts";
import {
  capitalize,
  definitionName,
  META_PREFIX,
  operationGroupVersion,
  operationTag,
  withArticle,
} from "./openapi-names.ts";
import {
  BUILTIN_LIST_PARAMETERS,
  DELETE_COLLECTION_PARAMETERS,
  DELETE_PARAMETERS,
  LIST_PARAMETERS,
  PATCH_PARAMETERS,
  type ParameterName,
  type ParameterReference,
  WRITE_PARAMETERS,
} from "./parameters.ts";

export type OperationBody =
  | { readonly type: "object"; readonly definition: string; readonly required: boolean }
  | { readonly type: "patch"; readonly strategic: boolean };

export type ApiOperation = {
  readonly method: "get" | "put" | "post" | "delete" | "patch";
  /** `x-kubernetes-action`; absent outside the resource tree. */
  readonly action?: string;
  readonly id: string;
  readonly description: string;
  readonly tag: string;
  readonly kind?: GroupVersionKind;
  readonly parameters: readonly ParameterReference[];
  readonly body?: OperationBody;
  /** The media types of an answer that is a text. */
  readonly text?: readonly string[];
  /** Definitions by status code; undefined where the body is not described. */
  readonly responses: ReadonlyMap<number, string | undefined>;
};

export type ApiPath = {
  readonly path: string;
  /** The kind of `{name}` in the path; absent without it. */
  readonly named?: string;
  readonly namespaced: boolean;
  readonly parameters: readonly ParameterReference[];
  readonly operations: readonly ApiOperation[];
};

const STATUS = `${META_PREFIX}Status`;
const DELETE_OPTIONS = `${META_PREFIX}DeleteOptions`;
const WATCH_EVENT = `${META_PREFIX}WatchEvent`;
const API_RESOURCE_LIST = `${META_PREFIX}APIResourceList`;

/** Kinds of Kubernetes have paths and parameters that custom resources do not have. */
export const isBuiltIn = ({ strategicMergePatch = false }: ResourceDefinition): boolean => strategicMergePatch;

/** Paths without an operation are left out. */
export function apiPaths(resource: ResourceDefinition): readonly ApiPath[] {
  const prefix = resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const collection = `${prefix}${resource.namespaced ? "/namespaces/{namespace}" : ""}/${resource.plural}`;
  const { namespaced, kind: named } = resource;
  const paths: readonly ApiPath[] = [
    { path: collection, namespaced, parameters: ["pretty"], operations: collectionOperations(resource) },
    { path: `${collection}/{name}`, named, namespaced, parameters: ["pretty"], operations: objectOperations(resource) },
    ...servedSubresources(resource).map((subresource) => ({
      path: `${collection}/{name}/${subresource.name}`,
      named,
      namespaced,
      parameters: connectParameters(subresource) ?? ["pretty" as const],
      operations: subresourceOperations(resource, subresource),
    })),
    ...(namespaced ? [allNamespacesPath(resource, `${prefix}/${resource.plural}`)] : []),
    ...(isBuiltIn(resource) && servedVerbs(resource).includes("watch") ? watchPaths(resource, prefix) : []),
  ];
  return paths.filter(({ operations }) => operations.length > 0);
}

/** Names that the operations of one resource share. */
function naming({ group, version, kind, namespaced }: ResourceDefinition) {
  const gvk = { group, version, kind };
  return {
    kind: gvk,
    tag: operationTag(gvk),
    definition: definitionName(gvk),
    list: definitionName({ ...gvk, kind: `${kind}List` }),
    id: (verb: string, what = "", suffix = "") =>
      `${verb}${operationGroupVersion(gvk)}${what}${namespaced ? "Namespaced" : ""}${kind}${suffix}`,
  };
}

const answers = (definition: string | undefined, ...codes: readonly number[]): ApiOperation["responses"] =>
  new Map([...codes.map((code) => [code, definition] as const), [401, undefined]]);

const listParameters = (resource: ResourceDefinition): readonly ParameterName[] =>
  isBuiltIn(resource) ? BUILTIN_LIST_PARAMETERS : LIST_PARAMETERS;

const OPTIONAL_DELETE_OPTIONS: OperationBody = { type: "object", definition: DELETE_OPTIONS, required: false };

const bodyOf = (definition: string): OperationBody => ({ type: "object", definition, required: true });

function collectionOperations(resource: ResourceDefinition): readonly ApiOperation[] {
  const { kind, tag, definition, list, id } = naming(resource);
  const verbs = servedVerbs(resource);
  const all: readonly (ApiOperation & { readonly verb: string })[] = [
    {
      verb: "list",
      method: "get",
      action: "list",
      id: id("list"),
      description: `list objects of kind ${kind.kind}`,
      parameters: listParameters(resource),
      responses: answers(list, 200),
      kind,
      tag,
    },
    {
      verb: "create",
      method: "post",
      action: "post",
      id: id("create"),
      description: `create ${withArticle(kind.kind)}`,
      parameters: WRITE_PARAMETERS,
      body: bodyOf(definition),
      responses: answers(definition, 200, 201, 202),
      kind,
      tag,
    },
    {
      verb: "deletecollection",
      method: "delete",
      action: "deletecollection",
      id: id("delete", "Collection"),
      description: `delete collection of ${kind.kind}`,
      ...(isBuiltIn(resource)
        ? { parameters: DELETE_COLLECTION_PARAMETERS, body: OPTIONAL_DELETE_OPTIONS }
        : { parameters: LIST_PARAMETERS }),
      responses: answers(STATUS, 200),
      kind,
      tag,
    },
  ];
  return served(all, verbs);
}

function objectOperations(resource: ResourceDefinition): readonly ApiOperation[] {
  const { kind, tag, definition, id } = naming(resource);
  const remove: ApiOperation & { readonly verb: string } = {
    verb: "delete",
    method: "delete",
    action: "delete",
    id: id("delete"),
    description: `delete ${withArticle(kind.kind)}`,
    parameters: DELETE_PARAMETERS,
    body: OPTIONAL_DELETE_OPTIONS,
    responses: answers(STATUS, 200, 202),
    kind,
    tag,
  };
  return served([...updatableOperations(resource, definition, ""), remove], servedVerbs(resource));
}

/** Reading, replacing and patching an object (`part` "") or its status or scale. */
function updatableOperations(
  resource: ResourceDefinition,
  definition: string,
  part: string,
  ofPart?: GroupVersionKind,
): readonly (ApiOperation & { readonly verb: string })[] {
  const { kind: ofObject, tag, id } = naming(resource);
  // Custom resources have their own kind at their scale.
  const kind = isBuiltIn(resource) ? (ofPart ?? ofObject) : ofObject;
  const what = `${part === "" ? "" : `${part} of `}the specified ${ofObject.kind}`;
  const suffix = capitalize(part);
  return [
    {
      verb: "get",
      method: "get",
      action: "get",
      id: id("read", "", suffix),
      description: `read ${what}`,
      parameters: isBuiltIn(resource) ? [] : ["resourceVersion"],
      responses: answers(definition, 200),
      kind,
      tag,
    },
    {
      verb: "update",
      method: "put",
      action: "put",
      id: id("replace", "", suffix),
      description: `replace ${what}`,
      parameters: WRITE_PARAMETERS,
      body: bodyOf(definition),
      responses: answers(definition, 200, 201),
      kind,
      tag,
    },
    {
      verb: "patch",
      method: "patch",
      action: "patch",
      id: id("patch", "", suffix),
      description: `partially update ${what}`,
      parameters: PATCH_PARAMETERS,
      body: { type: "patch", strategic: resource.strategicMergePatch === true },
      responses: answers(definition, 200),
      kind,
      tag,
    },
  ];
}

function served(
  operations: readonly (ApiOperation & { readonly verb: string })[],
  verbs: readonly string[],
): readonly ApiOperation[] {
  return operations.filter(({ verb }) => verbs.includes(verb)).map(({ verb: _, ...operation }) => operation);
}

function subresourceOperations(resource: ResourceDefinition, subresource: ServedSubresource): readonly ApiOperation[] {
  const definition = definitionName(subresource.kind);
  const own = subresource.definition;
  if (own === undefined || (own.updates !== undefined && own.create === undefined)) {
    return served(updatableOperations(resource, definition, subresource.name, subresource.kind), subresource.verbs);
  }
  const { tag, id } = naming(resource);
  const { name, kind } = subresource;
  const shared = { tag, kind, parameters: [] };
  const of = `${name} of the specified ${resource.kind}`;
  if (own.connect !== undefined) {
    const { connectMethods: methods = CONNECT_METHODS, description } = own;
    const [only, ...others] = methods;
    const reads = only === "get" && others.length === 0;
    return methods.map((method) => ({
      ...shared,
      method,
      action: reads ? "get" : "connect",
      id: reads ? id("read", "", capitalize(name)) : id("connect", capitalize(method), capitalize(name)),
      description: description ?? (reads ? `read ${of}` : `connect ${method.toUpperCase()} requests to ${of}`),
      text: reads ? ["text/plain", ...OBJECT_MEDIA_TYPES] : ["*/*"],
      responses: answers(undefined, 200),
    }));
  }
  const read: ApiOperation = {
    ...shared,
    method: "get",
    action: "get",
    id: id("read", "", capitalize(name)),
    description: own.description ?? `read ${of}`,
    responses: answers(definition, 200),
  };
  const create: ApiOperation = {
    ...shared,
    method: "post",
    action: "post",
    id: id("create", "", capitalize(name)),
    description: own.description ?? `create ${of}`,
    parameters: WRITE_PARAMETERS,
    body: bodyOf(definition),
    responses: answers(definition, 200, 201, 202),
  };
  return [...(own.get === undefined ? [] : [read]), ...(own.create === undefined ? [] : [create])];
}

const connectParameters = ({ definition }: ServedSubresource): readonly ParameterReference[] | undefined =>
  definition?.connect === undefined
    ? undefined
    : [...(definition.query ?? []), ...(definition.connectMethods?.length === 1 ? ["pretty" as const] : [])];

/** The older paths of watches. Their parameters stand at the path, as those of lists of all namespaces. */
function watchPaths(resource: ResourceDefinition, prefix: string): readonly ApiPath[] {
  const { plural, namespaced, kind: named } = resource;
  const { kind, tag, id } = naming(resource);
  const all = `${prefix}/watch/${plural}`;
  const collection = namespaced ? `${prefix}/watch/namespaces/{namespace}/${plural}` : all;
  const list = `watch individual changes to a list of ${named}. ${DEPRECATED_WATCH}.`;
  const one = `watch changes to an object of kind ${named}. ${DEPRECATED_WATCH}, filtered to a single item with the 'fieldSelector' parameter.`;
  const operation = (action: string, ofId: string, description: string): readonly ApiOperation[] => [
    { method: "get", action, id: ofId, description, tag, kind, parameters: [], responses: answers(WATCH_EVENT, 200) },
  ];
  const parameters = [...BUILTIN_LIST_PARAMETERS, "pretty" as const].sort();
  const everywhere = `watch${operationGroupVersion(kind)}${named}ListForAllNamespaces`;
  return [
    { path: collection, namespaced, parameters, operations: operation("watchlist", id("watch", "", "List"), list) },
    {
      path: `${collection}/{name}`,
      named,
      namespaced,
      parameters,
      operations: operation("watch", id("watch"), one),
    },
    ...(namespaced
      ? [{ path: all, namespaced: false, parameters, operations: operation("watchlist", everywhere, list) }]
      : []),
  ];
}

const DEPRECATED_WATCH = "deprecated: use the 'watch' parameter with a list operation instead";

/** The discovery of a version of built-in kinds. */
export function discoveryPath({ group, version }: GroupVersion): ApiPath {
  const id = `get${operationGroupVersion({ group, version })}APIResources`;
  const operation: ApiOperation = {
    method: "get",
    id,
    description: "get available resources",
    tag: operationTag({ group, version }),
    parameters: [],
    responses: answers(API_RESOURCE_LIST, 200),
  };
  const path = group === "" ? `/api/${version}/` : `/apis/${group}/${version}/`;
  return { path, namespaced: false, parameters: [], operations: [operation] };
}

/** Its parameters stand at the path, as upstream has it. */
function allNamespacesPath(resource: ResourceDefinition, path: string): ApiPath {
  const { kind, tag, list } = naming(resource);
  const operation: ApiOperation = {
    method: "get",
    action: "list",
    id: `list${operationGroupVersion(kind)}${kind.kind}ForAllNamespaces`,
    description: `list objects of kind ${kind.kind}`,
    parameters: [],
    responses: answers(list, 200),
    kind,
    tag,
  };
  return {
    path,
    namespaced: false,
    parameters: [...listParameters(resource), "pretty" as const].sort(),
    operations: servedVerbs(resource).includes("list") ? [operation] : [],
  };
}
