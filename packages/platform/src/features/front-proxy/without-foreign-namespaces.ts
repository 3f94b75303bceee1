// Lets the other cluster delete namespaces that the platform does not have.
//
// Its namespace controller deletes everything in a namespace, of all API groups, and a refusal keeps the namespace in Terminating. So where the
// platform has no such namespace, the answer is that there is none. Those of projects are refused as before: deleting a namespace of the other
// cluster deletes no virtual cluster.
// Source: k8s.io/kubernetes pkg/controller/namespace/deletion/namespaced_resources_deleter.go

import { isApiError, notFoundError } from "@postern/apimachinery/meta/api-error";
import type { Filter } from "@postern/apiserver/chain/run-filters";
import { isFrontProxyCredential } from "../../foundation/http/front-proxy-credential.ts";

/** The names that the controller has with and without --use-service-account-credentials. */
const NAMESPACE_CONTROLLERS: readonly string[] = [
  "system:serviceaccount:kube-system:namespace-controller",
  "system:kube-controller-manager",
];
const VERBS: readonly string[] = ["list", "deletecollection"];

export const withoutForeignNamespaces = ({
  prefix,
  hasNamespace,
}: {
  readonly prefix: string;
  readonly hasNamespace: (name: string) => boolean;
}): Filter => ({
  fail(error, { caller, credential, info }) {
    if (!isApiError(error, "Forbidden") || !isFrontProxyCredential(credential)) throw error;
    const { namespace, verb, isResourceRequest } = info;
    const isController = NAMESPACE_CONTROLLERS.some((name) => caller?.name === `${prefix}${name}`);
    if (!isController || !isResourceRequest || namespace === "" || !VERBS.includes(verb)) throw error;
    if (hasNamespace(namespace)) throw error;
    throw notFoundError({ group: "", resource: "namespaces" }, namespace);
  },
});
