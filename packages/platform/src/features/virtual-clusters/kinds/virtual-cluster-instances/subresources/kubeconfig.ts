// POST virtualclusterinstances/{name}/kubeconfig: a kubeconfig for the caller. Only its access key is stored.

import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { conflictError, notFoundError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import { createOptionsOf, isDryRun } from "@postern/apiserver/request/query-options";
import { buildKubeconfig, type KubeconfigCredential } from "../../../../../foundation/kubeconfig/kubeconfig.ts";
import type { ObjectLookup } from "../../../../../foundation/lookup/object-lookup.ts";
import type { InstancePlace } from "../../../../authorization/inside-groups.ts";
import type { BackendRegistry } from "../../../backend-registry.ts";
import type { VirtualClusterBackend } from "../../../virtual-cluster-backend.ts";
import { asViewer, type CredentialDeps, grantCertificate, grantToken } from "./kubeconfig-credential.ts";
import {
  KUBE_CONFIG_KIND,
  type KubeconfigRequest,
  kubeconfigFields,
  readKubeconfigRequest,
} from "./kubeconfig-request.ts";
import { authorizedRequester, type RequesterDeps } from "./kubeconfig-requester.ts";
import { type ServerAddress, type ServerAddressDeps, serverAddressOf } from "./server-address.ts";

export type KubeconfigDeps = RequesterDeps &
  ServerAddressDeps &
  CredentialDeps & {
    readonly lookup: Pick<ObjectLookup, "virtualClusterInstance" | "cluster">;
    readonly backends: BackendRegistry;
    /** Called with the kind of the credential in each kubeconfig. Default: none. */
    readonly onKubeconfigIssued?: (kind: "token" | "certificate") => void;
  };

export const kubeConfig = (deps: KubeconfigDeps): Subresource => {
  const { names, lookup, backends, onKubeconfigIssued } = deps;
  const resource = { group: names.managementGroup, resource: "virtualclusterinstances" };
  return {
    name: "kubeconfig",
    kind: { group: names.managementGroup, version: "v1", kind: KUBE_CONFIG_KIND },
    schema: kindSchema(kubeconfigFields.schema),
    description: "Kubeconfig for the virtual cluster, with a platform token or a client certificate.",
    async create(context, body) {
      const { namespace, name } = context.info;
      const request = readKubeconfigRequest(body, names.managementGroup);
      const requester = await authorizedRequester(context, deps);

      const instance = lookup.virtualClusterInstance(namespace, name);
      if (instance === undefined) throw notFoundError(resource, name);
      if (isBeingDeleted(instance)) throw conflictError(resource, name, "the virtual cluster is being deleted");
      const backend = backends.backendOf(instance);
      const { url, certificateAuthorityPem } = addressFor(request, instance, backend, deps);
      const answer = { ...body, metadata: { name, namespace } };
      const project = names.projectOf(namespace) ?? namespace;
      const textWith = (credential: KubeconfigCredential) =>
        buildKubeconfig({
          server: url,
          credential,
          name: request.contextName ?? `${project}-${name}`,
          ...(certificateAuthorityPem === undefined ? {} : { certificateAuthorityPem }),
        });
      if (isDryRun(createOptionsOf(context.request.query))) {
        const subject = request.clientCert
          ? { certificateSubject: subjectOf(context, request, { project, virtualCluster: name }, deps) }
          : {};
        return { ...answer, status: { kubeConfig: textWith(undefined), ...subject } };
      }

      const { credential, notAfter } = request.clientCert
        ? await grantCertificate(request, requester, instance, backend, context, deps)
        : await grantToken(request, requester, instance, context, deps);
      const text = textWith(credential);
      onKubeconfigIssued?.(request.clientCert ? "certificate" : "token");
      return {
        ...answer,
        status: {
          kubeConfig: text,
          ...(notAfter === undefined ? {} : { expirationTimestamp: formatTimestamp(notAfter) }),
        },
      };
    },
  };
};

function subjectOf(
  { user }: RequestContext,
  { isReadOnly }: KubeconfigRequest,
  place: InstancePlace,
  { insideIdentity, names }: KubeconfigDeps,
) {
  const whole = insideIdentity(user, place);
  const { name, groups } = isReadOnly ? asViewer(whole, names) : whole;
  return { commonName: name, organizations: [...groups] };
}

/** An address that the caller names goes into its kubeconfig. */
function addressFor(
  { server, clientCert }: KubeconfigRequest,
  instance: VirtualClusterInstance,
  backend: VirtualClusterBackend,
  deps: ServerAddressDeps,
): ServerAddress {
  const needsOwnEndpoint = clientCert && backend.endpoint === "ingress";
  if (needsOwnEndpoint && server !== undefined) {
    return { url: server, certificateAuthorityPem: backend.serverCertificateAuthority };
  }
  return serverAddressOf(instance, backend, { ...deps, needsOwnEndpoint, server });
}
