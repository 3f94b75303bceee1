// Gets a client certificate through the cluster's own CertificateSigningRequest API, as any client would: ask, approve, collect.

import { generateKeyPair, X509Certificate } from "node:crypto";
import { promisify } from "node:util";
import { internalError, isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CERTIFICATES_GROUP, conditionsOf } from "@postern/apiserver/builtin/certificates/certificate-signing-request";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { createSystemContext } from "@postern/apiserver/server/system-context";
import { asRequest } from "../controllers/certificate-signing/request-signer.ts";
import { CLIENT_SIGNER } from "../controllers/certificate-signing/sign-request.ts";
import { createCertificateRequest } from "../pki/certificate-request.ts";
import type { ClientCertificateRequest, IssuedClientCertificate } from "../virtual-clusters/virtual-cluster-backend.ts";
import type { EmbeddedCluster } from "./embedded-cluster.ts";

const generateKeys = promisify(generateKeyPair);
const NAME_PREFIX = "kube-config-";
const WRITE = { dryRun: false } as const;

/** The request is removed again, whatever becomes of it; the private key is nowhere but in the result. */
export async function issueClientCertificate(
  cluster: EmbeddedCluster,
  { commonName, organizations, expirationSeconds }: ClientCertificateRequest,
  { clock }: Pick<Runtime, "clock">,
  signal: AbortSignal,
): Promise<IssuedClientCertificate> {
  const requests = cluster.resource(CERTIFICATES_GROUP, "CertificateSigningRequest");
  const contextOf = (verb: string, name = "", subresource = "") =>
    createSystemContext(
      { verb, apiGroup: CERTIFICATES_GROUP, apiVersion: "v1", resource: requests.definition.plural, name, subresource },
      { clock, signal },
    );

  const { privateKey, publicKey } = await generateKeys("ec", { namedCurve: "prime256v1" });
  const request = createCertificateRequest(privateKey, { commonName, organizations }, publicKey);
  const created = await requests.store.create(
    contextOf("create"),
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
    WRITE,
  );
  const { name = "" } = created.decode().metadata;
  try {
    const approve = { transform: withApproval, subresource: "approval" };
    await requests.store.update(contextOf("update", name, "approval"), "", name, approve, WRITE);
    const signed = await cluster.signer.sign(name, signal);
    const certificatePem = Buffer.from(signed.status?.certificate ?? "", "base64").toString("latin1");
    if (certificatePem === "") {
      const why = conditionsOf(signed).find(({ type }) => type === "Failed")?.message;
      throw internalError("the virtual cluster has not signed the certificate", new Error(why));
    }
    return {
      certificatePem,
      privateKeyPem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      notAfter: Date.parse(new X509Certificate(certificatePem).validTo),
    };
  } finally {
    await removeRequest(name);
  }

  async function removeRequest(name: string): Promise<void> {
    try {
      await requests.store.delete(contextOf("delete", name), "", name, WRITE);
    } catch (error) {
      // Gone already; and where the store fails, what failed before is worth more. The cleaner removes it later.
      if (!isApiError(error)) throw error;
    }
  }
}

function withApproval(current: KubeObject): KubeObject {
  const request = asRequest(current);
  const approved = {
    type: "Approved",
    status: "True",
    reason: "KubeConfigRequested",
    message: "The platform approved this request for a kube config.",
  };
  return { ...request, status: { ...request.status, conditions: [...conditionsOf(request), approved] } };
}
