// The definition of a resource. Routes, discovery, OpenAPI, Table, patches, apply and watches are derived from it.

import type { ApiError } from "@postern/apimachinery/meta/api-error";
import type { GroupResource, GroupVersionKind } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import type { FieldError } from "@postern/apimachinery/validation/field-error";
import type { CachedObject } from "../cache/cached-object.ts";
import type { RequestContext } from "../context/request-context.ts";
import type { Awaitable } from "../runtime/awaitable.ts";
import type { ApiResponse } from "../transport/api-response.ts";
import type { CommittedWrite } from "./committed-write.ts";
import type { SealedFields, Strategy } from "./strategy.ts";
import type { ObjectVisibility } from "./visibility.ts";

/** The verbs of a resource, as in RBAC. */
export type ResourceVerb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection";

/** Verbs for a part of an object, such as its status. */
export const PART_VERBS = ["get", "patch", "update"] as const;
export type PartVerb = (typeof PART_VERBS)[number];

/** A column of the Table that `kubectl get` prints. */
export type PrinterColumn = {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly format?: string;
  readonly description?: string;
  /** Above 0: only with `-o wide`. */
  readonly priority?: number;
  /** In the definitions of Tables, instead of the above: built-in kinds call an age a string. */
  readonly shown?: Required<Pick<PrinterColumn, "name" | "format" | "description" | "priority">> & {
    readonly type: string;
  };
  /** A simple JSONPath (`.spec.user`), or a function of the object; null prints as `<none>`. */
  readonly value: string | ((object: KubeObject, now: number) => string | number | boolean | null);
};

/** An action or a view below an object, such as `virtualclusterinstances/{name}/kubeconfig`. */
export type Subresource = {
  readonly name: string;
  /** The kind of request and response. */
  readonly kind: GroupVersionKind;
  readonly schema?: StructuralSchema;
  readonly description?: string;
  get?(context: RequestContext): Promise<KubeObject>;
  /** POST: `body` is pruned and checked against the schema; kind and names are checked. Answered 201. */
  create?(context: RequestContext, body: KubeObject): Promise<KubeObject>;
  /** Refuses a body of `create` with another name than the path. Default: a 400. */
  nameFault?(name: string, nameOfPath: string): ApiError;
  /**
   * GET, PUT and PATCH of the whole object through here, as `/status` has them: the object to go on with, of which only what
   * belongs to the subresource has changed; of that only, what `submitted` says is held against the schema. Only for built-in kinds, whose
   * types are checked when a body is read.
   */
  updates?(submitted: KubeObject, old: KubeObject): KubeObject;
  /** Which of them there are where there is `updates`; default: all three. */
  readonly verbs?: readonly PartVerb[];
  /** Streams, upgrades and proxies. */
  connect?(context: RequestContext): Promise<ApiResponse>;
  /** The methods that discovery and documents name for `connect`; default: all. With GET alone, it reads a text. */
  readonly connectMethods?: readonly ConnectMethod[];
  /** The query parameters of `connect`, for documents. */
  readonly query?: readonly QueryParameter[];
};

export type ConnectMethod = "get" | "put" | "post" | "delete" | "patch";

export type QueryParameter = {
  readonly name: string;
  readonly type: "string" | "boolean" | "integer";
  readonly description: string;
};

export type ScaleSubresource = {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
  /** The selector as text, of a kind whose selector is none at a path. */
  selectorText?(object: KubeObject): string;
  /** The kind has a check of its own for how many are wanted. */
  readonly checksSpec?: true;
};

/** Describes a resource. Group, version, kind, names and schema are required; everything else has a default. */
export type ResourceDefinition = GroupVersionKind & {
  /** Lower-case plural, as in URLs. */
  readonly plural: string;
  /** Default: the kind in lower case. */
  readonly singular?: string;
  /** Default: kind + "List". */
  readonly listKind?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly namespaced: boolean;
  /** The whole kind: apiVersion, kind, metadata and the rest. */
  readonly schema: StructuralSchema;
  /** Default: all eight, or `create` alone where `submit` is given. */
  readonly verbs?: readonly ResourceVerb[];
  /** True when `/status` is served and `status` is not writable through the main resource. */
  readonly hasStatus?: boolean;
  /** True when a create keeps the status that a client sends, as for Nodes, which register themselves. */
  readonly takesNewStatus?: boolean;
  readonly scale?: ScaleSubresource;
  readonly subresources?: readonly Subresource[];
  readonly columns?: readonly PrinterColumn[];
  /** True if `columns` contain the name; otherwise it is added in front of them. */
  readonly hasOwnNameColumn?: boolean;
  /** Field selectors beside metadata.name and metadata.namespace, as simple JSONPaths (`.spec.user`). */
  readonly selectableFields?: readonly string[];
  /** The refusal of a field selector that there is none of; default: that of most built-in kinds. */
  unknownFieldText?(field: string): string;
  /** Further field selectors, whose values are made of several fields. */
  readonly computedFields?: { readonly [field: string]: (object: KubeObject) => string };
  /** False for the built-in kinds that keep no metadata.generation; `onCreate`: it is 1 and never counted; `withAnnotations`: they count, too. Default true. */
  readonly tracksGeneration?: boolean | "onCreate" | "withAnnotations";
  /**
   * Fills in what the schema cannot, before it is recorded who owns what. Only for built-in kinds, whose types are checked when a body is
   * read: of others, a body has not passed its schema by then.
   */
  setDefaults?(object: KubeObject): KubeObject;
  /** Checks that presuppose a valid object: not made while something else is wrong with it. `old` is absent on create. */
  rules?(
    object: KubeObject,
    old: KubeObject | undefined,
    warn: (text: string) => void,
    most?: number,
  ): readonly FieldError[] | undefined;
  /** The schema that `rules` was made of, for a thread that makes it again. */
  readonly ruleSchema?: StructuralSchema;
  readonly strategy?: Strategy;
  /** True where a DELETE that removes an object answers the object rather than a Status. Upstream: ReturnDeletedObject of its store. */
  readonly returnsDeletedObject?: boolean;
  readonly sealed?: SealedFields;
  /** Built-in kinds take strategic merge patches; custom ones answer 415. */
  readonly strategicMergePatch?: boolean;
  /** The resource whose records this one is another view of. Default: its own. */
  readonly storedAs?: StoredKind;
  /** Between the objects that are served and the records of `storedAs`, where their shapes differ. */
  readonly conversion?: KindConversion;
  /**
   * By apiVersion, where schemas may have changed since objects were written, or are not the same in all versions: what is read is pruned,
   * and gets its defaults, by the schema of the version that it was written in. Absent: objects are read as they were written.
   */
  readonly storedSchemas?: ReadonlyMap<string, StructuralSchema>;
  /** The other versions in which the same objects are served, such as `v1beta1`. */
  readonly otherVersions?: readonly string[];
  /** Warning on every request to the resource, such as that its version is old. */
  readonly deprecationWarning?: string;
  /** The objects that each caller may see and touch. Absent: everything that authorization lets it ask for. */
  readonly visibility?: ObjectVisibility;
  /** The object as it is shown: with fields that follow from other objects and are stored nowhere. It keeps its key. */
  present?(object: CachedObject): CachedObject;
  /** The same for a list, in the order of the keys, where few of many differ. Default: one by one. */
  presentList?(objects: readonly CachedObject[]): readonly CachedObject[];
  /** Adds to the object for this caller, only in the answer to a get or a list. */
  extend?(object: CachedObject, context: RequestContext): Awaitable<CachedObject>;
  /** Brings what a client has written to where it is needed, before that is answered, and says what the client is shown. */
  deliver?(write: CommittedWrite, context: RequestContext): Awaitable<CachedObject>;
  /** Adds to the warnings of the request what the client should know of the object that it has written. */
  warnOfWrite?(object: CachedObject, context: RequestContext): Awaitable<void>;
  /** A resource that is answered, not stored: reviews, `selves`. */
  submit?(context: RequestContext, body: KubeObject): Promise<KubeObject>;
  /** A resource whose few objects are made anew for each get and list; it has no other verbs. */
  compute?(): readonly KubeObject[];
};

export type KindConversion = {
  toServed(record: KubeObject): KubeObject;
  toStored(object: KubeObject): KubeObject;
};

export type StoredKind = GroupVersionKind & { readonly plural: string };

/** The name of the resource in the singular, in lower case. */
export const singularOf = ({ kind, singular = kind.toLowerCase() }: ResourceDefinition): string => singular;

/** The kind of a list of the resource. */
export const listKindOf = ({ kind, listKind = `${kind}List` }: ResourceDefinition): string => listKind;

/** Identity function that gives a definition its type where it is written. */
export const defineResource = (definition: ResourceDefinition): ResourceDefinition => definition;

/** Whether there are records of the resource. */
export const isStored = ({ submit, compute }: Pick<ResourceDefinition, "submit" | "compute">): boolean =>
  submit === undefined && compute === undefined;

/** As refusals name a resource. */
export const groupResourceOf = ({ group, plural }: Pick<ResourceDefinition, "group" | "plural">): GroupResource => ({
  group,
  resource: plural,
});
