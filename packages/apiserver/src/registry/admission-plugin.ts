// The port for admission: checks and changes before a write is stored.
// Source: k8s.io/apiserver/pkg/admission/interfaces.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { type ApiError, forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { GroupResource } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { RequestContext } from "../context/request-context.ts";
import { type Awaitable, whenDone } from "../runtime/awaitable.ts";
import type { ResourceDefinition } from "./resource-definition.ts";

export type AdmissionAttributes = {
  readonly context: RequestContext;
  readonly resource: ResourceDefinition;
  readonly subresource: string;
  readonly namespace: string;
  /** "" for a create whose name is generated later. */
  readonly name: string;
  readonly operation: "create" | "update" | "delete" | "connect";
  readonly object: KubeObject | undefined;
  readonly oldObject: KubeObject | undefined;
  readonly dryRun: boolean;
  /** The options of a delete. */
  readonly deleteOptions?: JsonObject | undefined;
};

/** Changes or refuses writes of any resource, between authorization and the store. */
export type AdmissionPlugin = {
  readonly name: string;
  /** It is asked about writes of this resource alone. Absent: about those of all. */
  readonly resource?: GroupResource;
  /** Returns the object to continue with. */
  admit?(attributes: AdmissionAttributes): Promise<KubeObject | undefined> | KubeObject | undefined;
  /** Throws an ApiError to refuse. */
  validate?(attributes: AdmissionAttributes): Promise<void> | void;
};

export type AdmissionChain = Required<Pick<AdmissionPlugin, "admit" | "validate">>;

/** All plugins change first, in order; then all of them check. */
export function admissionChain(plugins: readonly AdmissionPlugin[]): AdmissionChain {
  const asked = new WeakMap<ResourceDefinition, AskedPlugins>();
  const askedAbout = ({ resource }: AdmissionAttributes): AskedPlugins => {
    const found = asked.get(resource) ?? pluginsFor(resource, plugins);
    asked.set(resource, found);
    return found;
  };
  return {
    admit: (attributes) =>
      askedAbout(attributes).changing.reduce<Awaitable<KubeObject | undefined>>(
        (before, plugin) =>
          whenDone(before, (object) =>
            plugin.admit?.(object === attributes.object ? attributes : { ...attributes, object }),
          ),
        attributes.object,
      ),
    validate: (attributes) =>
      askedAbout(attributes).checking.reduce<Awaitable<void>>(
        (before, plugin) => whenDone(before, () => plugin.validate?.(attributes)),
        undefined,
      ),
  };
}

type AskedPlugins = { readonly changing: readonly AdmissionPlugin[]; readonly checking: readonly AdmissionPlugin[] };

function pluginsFor({ group, plural }: ResourceDefinition, plugins: readonly AdmissionPlugin[]): AskedPlugins {
  const asked = plugins.filter(
    ({ resource: of }) => of === undefined || (of.resource === plural && of.group === group),
  );
  return {
    changing: asked.filter(({ admit }) => admit !== undefined),
    checking: asked.filter(({ validate }) => validate !== undefined),
  };
}

/**
 * 403. It names the object, or its prefix where the name is generated later.
 * Source: k8s.io/apiserver/pkg/admission/errors.go
 */
export function forbiddenByAdmission({ resource, name, object }: AdmissionAttributes, why: string): ApiError {
  const named = name !== "" ? name : (object?.metadata.name ?? object?.metadata.generateName ?? "Unknown");
  return forbiddenRequestError({ group: resource.group, resource: resource.plural }, named, why);
}
