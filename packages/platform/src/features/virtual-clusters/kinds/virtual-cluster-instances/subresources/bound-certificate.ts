// A client certificate for an external virtual cluster or one in a connected cluster, which the platform accepts. It authenticates as an access key, with
// the limits, the usage and the revocation of that key. A CA that is used once signs it: the key is bound to its thumbprint, and no CA is trusted.

import { X509Certificate } from "node:crypto";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { createCertificateAuthority } from "../../../../../foundation/pki/certificate-authority.ts";
import { makeKeyPair } from "../../../../../foundation/pki/p256-key-pair.ts";
import { signClientCertificate } from "../../../../../foundation/pki/sign-client-certificate.ts";
import { nameForKey } from "../../../../access-keys/proofs/key-certificate.ts";
import { newAccessKeyId } from "../../../../access-keys/secrets/access-key-format.ts";
import { type CredentialDeps, type GrantedCredential, grantToken } from "./kubeconfig-credential.ts";
import type { KubeconfigRequest } from "./kubeconfig-request.ts";
import type { Requester } from "./kubeconfig-requester.ts";

const YEAR_SECONDS = 365 * 86_400;

export async function grantBoundCertificate(
  request: KubeconfigRequest,
  requester: Requester,
  instance: VirtualClusterInstance,
  context: RequestContext,
  deps: CredentialDeps & { readonly runtime: Pick<Runtime, "clock" | "random"> },
): Promise<GrantedCredential> {
  const { certificateRequest, ttlSeconds } = request;
  const { clock, random } = deps.runtime;
  const { namespace = "", name = "" } = instance.metadata;
  const project = deps.names.projectOf(namespace) ?? "";
  const keyName = `${project}-${name}-${newAccessKeyId(random)}`;
  const { privateKeyPem, publicKeyInfo } =
    certificateRequest === undefined
      ? makeKeyPair()
      : {
          privateKeyPem: undefined,
          publicKeyInfo: certificateRequest.publicKey.export({ type: "spki", format: "der" }),
        };
  const lifetime = Math.min(ttlSeconds ?? YEAR_SECONDS, YEAR_SECONDS) * 1_000;
  const { pem, notAfter } = signClientCertificate({
    authority: createCertificateAuthority({ commonName: keyName, clock, random }),
    publicKeyInfo,
    commonName: deps.insideIdentity(context.user, { project, virtualCluster: name }).name,
    organizations: [],
    alternativeNames: [nameForKey(keyName)],
    notAfter: clock.now() + lifetime,
    clock,
    random,
  });
  const certificateSHA256 = new X509Certificate(pem).fingerprint256.replaceAll(":", "").toLowerCase();
  const bound = { name: keyName, certificateSHA256 };
  const { notAfter: keyEnd, known } = await grantToken(request, requester, instance, context, deps, bound);
  return {
    credential: { clientCertificatePem: pem, clientKeyPem: privateKeyPem },
    notAfter: Math.min(notAfter, keyEnd ?? Number.POSITIVE_INFINITY),
    known,
  };
}
