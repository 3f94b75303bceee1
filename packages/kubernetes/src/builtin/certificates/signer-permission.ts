// Permissions to approve requests for a signer and to sign in its name, and subjects that are always forbidden.
// Source: k8s.io/kubernetes/plugin/pkg/admission/certificates/{approval,signing,subjectrestriction}/admission.go

import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { GROUP_MASTERS } from "@postern/apiserver/authentication/user-info";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { readEncodedCertificateRequest } from "@postern/apiserver/x509/certificate-request";
import { DerError } from "@postern/apiserver/x509/der";
import { decodeDistinguishedName } from "@postern/apiserver/x509/distinguished-name";
import { CERTIFICATES_GROUP, type CertificateSigningRequest } from "./certificate-signing-request.ts";

const RESOURCE = { group: CERTIFICATES_GROUP, resource: "certificatesigningrequests" };
/** Signs certificates that authenticate at the API server. */
export const CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client";

/** Throws 403 unless the caller has `verb` on the signer by its name, or on all signers of its domain (`domain/*`). */
export async function checkSignerPermission(
  authorizer: Authorizer,
  { user, credential }: RequestContext,
  { metadata, spec }: CertificateSigningRequest,
  verb: "approve" | "sign",
): Promise<void> {
  const signerName = spec?.signerName ?? "";
  const wildcard = `${signerName.split("/")[0] ?? ""}/*`;
  for (const name of [signerName, wildcard]) {
    const decision = await authorizer.authorize({
      user,
      credential,
      verb,
      isResourceRequest: true,
      apiGroup: CERTIFICATES_GROUP,
      apiVersion: "*",
      resource: "signers",
      subresource: "",
      namespace: "",
      name,
      path: "",
    });
    if (decision.verdict === "allow") return;
  }
  const why = `user not permitted to ${verb} requests with signerName ${quoteGo(signerName)}`;
  throw forbiddenRequestError(RESOURCE, metadata.name ?? "", why);
}

/** Throws 403 for a request that would make its holder an administrator permanently. */
export function checkRequestedGroups({ metadata, spec }: CertificateSigningRequest): void {
  if (spec?.signerName !== CLIENT_SIGNER || !organizationsOf(spec.request ?? "").includes(GROUP_MASTERS)) return;
  const why = `use of ${CLIENT_SIGNER} signer with ${GROUP_MASTERS} group is not allowed`;
  throw forbiddenRequestError(RESOURCE, metadata.name ?? "", why);
}

/** None for a request that cannot be read: validation refuses it. */
function organizationsOf(request: string): readonly string[] {
  try {
    return decodeDistinguishedName(readEncodedCertificateRequest(request).subject).organizations;
  } catch (error) {
    if (error instanceof DerError) return [];
    throw error;
  }
}
