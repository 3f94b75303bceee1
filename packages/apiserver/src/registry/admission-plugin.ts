// The port for admission: checks and changes before a write is stored.
// Source: k8s.io/apiserver/pkg/admission/interfaces.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { type ApiError, forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { RequestContext } from "../context/request-context.ts";
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
  /** Of a delete: how. */
  readonly deleteOptions?: JsonObject | undefined;
};

/** Changes or refuses writes of any resource, between authorization and the store. */
export type AdmissionPlugin = {
  readonly name: string;
  /** Returns the object to continue with. */
  admit?(attributes: AdmissionAttributes): Promise<KubeObject | undefined> | KubeObject | undefined;
  /** Throws an ApiError to refuse. */
  validate?(attributes: AdmissionAttributes): Promise<void> | void;
};

/** A list of plugins is a plugin: all of them change first, in order; then all of them check. */
export function admissionChain(plugins: readonly AdmissionPlugin[]): Required<AdmissionPlugin> {
  const changing = plugins.filter(({ admit }) => admit !== undefined);
  const checking = plugins.filter(({ validate }) => validate !== undefined);
  return {
    name: plugins.map(({ name }) => name).join(","),
    async admit(attributes) {
      let { object } = attributes;
      for (const plugin of changing) object = await plugin.admit?.({ ...attributes, object });
      return object;
    },
    async validate(attributes) {
      for (const plugin of checking) await plugin.validate?.(attributes);
    },
  };
}

/**
 * 403. It names the object, or its prefix where the name is generated later.
 * Source: k8s.io/apiserver/pkg/admission/errors.go
 */
export function forbiddenByAdmission({ resource, name, object }: AdmissionAttributes, why: string): ApiError {
  const named = name !== "" ? name : (object?.metadata.name ?? object?.metadata.generateName ?? "Unknown!");
  return forbiddenRequestError({ group: resource.group, resource: resource.plural }, named, why);
}
