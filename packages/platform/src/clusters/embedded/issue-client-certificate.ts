// Gets a client certificate for a kube config from the cluster's own signer. The key is ours and nobody else is to decide, so that no request
// is written, read back or kept on the way. See docs/adr/0012 and 0039.

import { internalError } from "@postern/apimachinery/meta/api-error";
import { GROUP_MASTERS } from "@postern/apiserver/authentication/user-info";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { makeKeyPair } from "../../pki/p256-key-pair.ts";
import { signSubject } from "../certificate-signing/sign-request.ts";
import type { ClientCertificateRequest, IssuedClientCertificate } from "../virtual-cluster-backend.ts";
import type { EmbeddedCluster } from "./embedded-cluster.ts";

/** The private key is nowhere but in the result. Whoever hands the certificate out writes it down first: until then it opens nothing. */
export function issueClientCertificate(
  { authority }: Pick<EmbeddedCluster, "authority">,
  { commonName, organizations, expirationSeconds, request }: ClientCertificateRequest,
  runtime: Pick<Runtime, "clock" | "random">,
): IssuedClientCertificate {
  // As the signer refuses it in a request of anybody's.
  if (organizations.includes(GROUP_MASTERS)) {
    throw internalError("the virtual cluster has not signed the certificate", new Error(`asked for ${GROUP_MASTERS}`));
  }
  // Of a client's own request the public key counts alone: what it calls itself is replaced by what the platform knows.
  const { privateKeyPem, publicKeyInfo } =
    request === undefined
      ? makeKeyPair()
      : { privateKeyPem: undefined, publicKeyInfo: request.publicKey.export({ type: "spki", format: "der" }) };
  const { pem, serialNumber, notAfter } = signSubject(
    { commonName, organizations, publicKeyInfo, expirationSeconds },
    authority,
    runtime,
  );
  return { certificatePem: pem, privateKeyPem, serial: serialNumber, notAfter };
}
