// Gets a client certificate for a kube config: the request goes through the cluster's own CertificateSigningRequest API and signer, as that
// of any client would, but is kept nowhere on its way. See docs/adr/0012.

import { generateKeyPair, X509Certificate } from "node:crypto";
import { promisify } from "node:util";
import { internalError } from "@postern/apimachinery/meta/api-error";
import { CERTIFICATES_GROUP } from "@postern/apiserver/builtin/certificates/certificate-signing-request";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { createSystemContext } from "@postern/apiserver/server/system-context";
import { asRequest } from "../controllers/certificate-signing/request-signer.ts";
import { CLIENT_SIGNER, signRequest } from "../controllers/certificate-signing/sign-request.ts";
import { createCertificateRequest } from "../pki/certificate-request.ts";
import type { ClientCertificateRequest, IssuedClientCertificate } from "../virtual-clusters/virtual-cluster-backend.ts";
import type { EmbeddedCluster } from "./embedded-cluster.ts";

const generateKeys = promisify(generateKeyPair);
const NAME_PREFIX = "kube-config-";

/** The private key is nowhere but in the result. Whoever hands the certificate out writes it down first: until then it opens nothing. */
export async function issueClientCertificate(
  cluster: Pick<EmbeddedCluster, "resource" | "authority">,
  { commonName, organizations, expirationSeconds }: ClientCertificateRequest,
  { clock, random }: Pick<Runtime, "clock" | "random">,
  signal: AbortSignal,
): Promise<IssuedClientCertificate> {
  const { definition, store } = cluster.resource(CERTIFICATES_GROUP, "CertificateSigningRequest");
  const call = { verb: "create", apiGroup: CERTIFICATES_GROUP, apiVersion: "v1", resource: definition.plural };
  const { privateKey, publicKey } = await generateKeys("ec", { namedCurve: "prime256v1" });
  const request = createCertificateRequest(privateKey, { commonName, organizations }, publicKey);
  // Checked and admitted like one that stays: it is approved and signed in the same breath, and nobody else is to decide about it.
  const checked = await store.create(
    createSystemContext(call, { clock, signal }),
    "",
    {
      apiVersion: `${CERTIFICATES_GROUP}/v1`,
      kind: "CertificateSigningRequest",
      metadata: { generateName: NAME_PREFIX },
      spec: {
        request: Buffer.from(request).toString("base64"),
        signerName: CLIENT_SIGNER,
        usages: ["client auth", "digital signature"],
        ...(expirationSeconds === undefined ? {} : { expirationSeconds }),
      },
    },
    { dryRun: true },
  );
  const outcome = signRequest(asRequest(checked.decode()), cluster.authority, { clock, random });
  if ("failure" in outcome) {
    throw internalError("the virtual cluster has not signed the certificate", new Error(outcome.failure));
  }
  return {
    certificatePem: outcome.certificatePem,
    privateKeyPem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    notAfter: Date.parse(new X509Certificate(outcome.certificatePem).validTo),
  };
}
