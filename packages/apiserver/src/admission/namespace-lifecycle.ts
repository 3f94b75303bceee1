// Nothing is created in a namespace that is absent or on its way out, and the first namespaces stay.
// Source: k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { ApiError, forbiddenRequestError, notFoundError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { type AdmissionAttributes, type AdmissionPlugin, forbiddenByAdmission } from "../registry/admission-plugin.ts";
import { whenDone } from "../runtime/awaitable.ts";

export type NamespaceLookup = {
  /** From memory: may miss a namespace that has just been made. */
  cached(name: string): KubeObject | undefined;
  /** Reads from the store. */
  live(name: string, signal: AbortSignal): Promise<KubeObject | undefined>;
};

/** Namespaces that every cluster has, and that may not be deleted. */
const IMMORTAL = ["default", "kube-system", "kube-public"];

const isNamespaces = ({ resource }: AdmissionAttributes): boolean =>
  resource.group === "" && resource.plural === "namespaces";

/** Reviews of access are questions, which may be asked about namespaces that do not exist. */
const isAccessReview = ({ resource }: AdmissionAttributes): boolean =>
  resource.group === "authorization.k8s.io" && resource.plural === "localsubjectaccessreviews";

/** The check runs in `admit`, so that an absent namespace is named before anything that is wrong with the object. */
export function createNamespaceLifecycle({ namespaces }: { readonly namespaces: NamespaceLookup }): AdmissionPlugin {
  return {
    name: "NamespaceLifecycle",

    admit(attributes) {
      const { namespace, operation, object, context } = attributes;
      if (namespace === "" || operation === "delete" || isNamespaces(attributes) || isAccessReview(attributes)) {
        return object;
      }
      const known = namespaces.cached(namespace) ?? namespaces.live(namespace, context.signal);
      return whenDone(known, (found) => {
        if (found === undefined) throw notFoundError({ group: "", resource: "namespaces" }, namespace);
        if (operation === "create" && isTerminating(found)) throw terminatingError(attributes);
        return object;
      });
    },

    validate(attributes) {
      if (attributes.operation === "delete" && isNamespaces(attributes) && IMMORTAL.includes(attributes.name)) {
        throw forbiddenRequestError(
          { group: "", resource: "namespaces" },
          attributes.name,
          "this namespace may not be deleted",
        );
      }
    },
  };
}

const isTerminating = ({ status }: KubeObject): boolean => isJsonObject(status) && status["phase"] === "Terminating";

function terminatingError(attributes: AdmissionAttributes): ApiError {
  const { namespace } = attributes;
  const error = forbiddenByAdmission(
    attributes,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
  );
  return new ApiError({
    code: error.code,
    reason: error.reason,
    message: error.message,
    details: {
      ...error.details,
      causes: [
        {
          reason: "NamespaceTerminating",
          message: `namespace ${namespace} is being terminated`,
          field: "metadata.namespace",
        },
      ],
    },
  });
}
