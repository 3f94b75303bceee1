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
import { type WrapDeps, wrapCredential } from "../../../../wrapped-values/wrap-credential.ts";
import { wrapMsOf } from "../../../../wrapped-values/wrap-request.ts";
import type { WrappedCredential, WrappedSubject } from "../../../../wrapped-values/wrapped-record.ts";
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
import {
  isAddressOfPlatform,
  type ServerAddress,
  type ServerAddressDeps,
  serverAddressOf,
  verifiesTokens,
} from "./server-address.ts";

export type KubeconfigDeps = RequesterDeps &
  ServerAddressDeps &
  CredentialDeps &
  WrapDeps & {
    readonly lookup: Pick<ObjectLookup, "virtualClusterInstance" | "cluster">;
    readonly backends: BackendRegistry;
    /** Called with the kind of the credential in each kubeconfig. Default: none. */
    readonly onKubeconfigIssued?: (kind: "token" | "certificate") => void;
  };

export const kubeConfig = (deps: KubeconfigDeps): Subresource => {
  const { names, lookup, backends, wrapped, onKubeconfigIssued } = deps;
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
      warnOfUnverified(request, instance, url, context, deps);
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

      const wrapMs = wrapMsOf(context.request.query);
      const { owner } = requester;
      if (wrapMs !== undefined) await wrapped.makeRoom(owner);
      const { credential, notAfter, known } = request.clientCert
        ? await grantCertificate(request, requester, instance, backend, context, deps)
        : await grantToken(request, requester, instance, context, deps);
      const text = textWith(credential);
      const end = notAfter === undefined ? {} : { expirationTimestamp: formatTimestamp(notAfter) };
      const delivered =
        wrapMs === undefined
          ? { kubeConfig: text }
          : {
              wrapped: await wrapCredential(
                context,
                {
                  owner,
                  subject: subjectOfEvents(instance, known),
                  credential: known,
                  content: { kubeConfig: text, name: `${project}/${name}`, ...end },
                  validMs: wrapMs,
                },
                deps,
              ),
            };
      onKubeconfigIssued?.(request.clientCert ? "certificate" : "token");
      return { ...answer, status: { ...delivered, ...end } };
    },
  };
};

const subjectOfEvents = ({ metadata }: VirtualClusterInstance, known: WrappedCredential): WrappedSubject =>
  "keyUid" in known
    ? { kind: "OwnedAccessKey", name: known.keyName, uid: known.keyUid }
    : {
        kind: "VirtualClusterInstance",
        name: metadata.name ?? "",
        namespace: metadata.namespace ?? "",
        uid: metadata.uid ?? "",
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

/** The address that the caller names is that of a server which does not know the token, or not its rules. */
function warnOfUnverified(
  { server, clientCert, isReadOnly }: KubeconfigRequest,
  instance: VirtualClusterInstance,
  url: string,
  { warnings }: RequestContext,
  deps: ServerAddressDeps,
): void {
  if (server === undefined || clientCert || isAddressOfPlatform(url, instance, deps)) return;
  if (isReadOnly) warnings.add(READ_ONLY_ELSEWHERE);
  else if (!verifiesTokens(instance)) warnings.add(UNVERIFIED_ELSEWHERE);
}

const READ_ONLY_ELSEWHERE =
  "spec.server: only the platform knows the rules of a read-only token, and another server refuses it: leave out spec.server";
const UNVERIFIED_ELSEWHERE =
  "spec.server: the virtual cluster refuses the token unless it asks the platform about tokens (spec.verifiesTokens): leave out spec.server, or set spec.clientCert";

/** An address that the caller names goes into its kubeconfig. */
function addressFor(
  { server, clientCert, isReadOnly }: KubeconfigRequest,
  instance: VirtualClusterInstance,
  backend: VirtualClusterBackend,
  deps: ServerAddressDeps,
): ServerAddress {
  const needsOwnEndpoint = clientCert && backend.endpoint === "ingress";
  if (needsOwnEndpoint && server !== undefined) {
    return { url: server, certificateAuthorityPem: backend.serverCertificateAuthority };
  }
  return serverAddressOf(instance, backend, { needsOwnEndpoint, needsPlatform: isReadOnly, server }, deps);
}
